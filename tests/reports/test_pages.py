from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchspec.engine.model.errors import SpecError
from benchspec.reports.output.escape import MarkdownText, code_span, escape_markdown
from benchspec.reports.output.html import render_page as render_html
from benchspec.reports.output.markdown import render_page, render_summary
from benchspec.reports.page.view import build_view
from benchspec.reports.sandbox import confined
from tests.reports.goldens import DIRECTORY, make_goldens
from tests.reports.hostile_run import HOSTILE, make_hostile_analysis, make_hostile_run
from tests.reports.sample_run import make_analysis, make_run

RUN = make_run()
VIEW = build_view(RUN, make_analysis(RUN))
HOSTILE_RUN = make_hostile_run()
HOSTILE_VIEW = build_view(HOSTILE_RUN, make_hostile_analysis(HOSTILE_RUN))
OUR_HTML = re.compile(r"</?a( id=\"[a-z0-9-]+\")?>")


def tokens(page: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("name", sorted(make_goldens()))
def test_the_sample_gives_its_golden_bytes(name: str) -> None:
    golden = DIRECTORY / name
    assert golden.is_file(), "python -m tests.reports.goldens writes it"
    assert make_goldens()[name] == golden.read_bytes(), (
        "if the change is wanted: python -m tests.reports.goldens, then read the difference"
    )


def test_no_golden_file_is_left_over() -> None:
    assert {
        str(path.relative_to(DIRECTORY)) for path in DIRECTORY.rglob("*") if path.is_file()
    } == set(make_goldens())


def test_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    program = (
        "from hashlib import sha256; from tests.reports.goldens import make_goldens as g;"
        " print(sha256(repr(g()).encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("view", [VIEW, HOSTILE_VIEW], ids=["sample", "hostile"])
def test_only_our_own_html_and_links_are_in_a_page(view: object) -> None:
    page = render_page(view).decode()  # type: ignore[arg-type]
    for token in tokens(page):
        if token.type in ("html_inline", "html_block"):
            assert OUR_HTML.sub("", token.content).strip() == ""
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith("#")
        if token.type == "image":
            assert re.fullmatch(r"figures/[a-z0-9-]+\.svg", str(token.attrs["src"]))
    assert not re.search(r"(https?://|www\.|@)evil", re.sub(r"`[^`\n]*`", "", page))


@pytest.mark.parametrize("view", [VIEW, HOSTILE_VIEW], ids=["sample", "hostile"])
def test_every_link_of_a_page_leads_somewhere(view: object) -> None:
    page = render_page(view).decode()  # type: ignore[arg-type]
    targets = set(re.findall(r'<a id="([^"]+)">', page)) | {"excluded-trials", "findings"}
    links = [str(t.attrs["href"]).removeprefix("#") for t in tokens(page) if t.type == "link_open"]
    assert links
    assert set(links) <= targets
    drawn = {f"figures/{figure.name}.svg" for figure in view.figures}  # type: ignore[attr-defined]
    assert {str(t.attrs["src"]) for t in tokens(page) if t.type == "image"} == drawn


def test_hostile_text_makes_no_headings_and_breaks_no_tables() -> None:
    plain, hostile = (render_page(view).decode() for view in (VIEW, HOSTILE_VIEW))
    assert count(plain, "h1") == count(hostile, "h1") == 1
    assert count(plain, "h2") == count(hostile, "h2")
    for page in (plain, hostile):
        for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
            widths = {line.count("|") for line in block.splitlines()}
            assert len(widths) == 1, block


def count(page: str, tag: str) -> int:
    return sum(1 for token in tokens(page) if token.type == "heading_open" and token.tag == tag)


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_reads_as_itself_wherever_it_stands(text: str) -> None:
    shown = (
        " ".join(text.split())
        .replace("\u202e", "\ufffd")
        .replace("\u202c", "\ufffd")
        .replace("\x1b", "\ufffd")
        .replace("\x00", "\ufffd")
    )
    for before, after in (("", ""), ("- ", ""), ("# ", ""), ("word ", " word")):
        inline = [
            t
            for t in (
                MarkdownIt("commonmark")
                .enable("table")
                .parse(f"{before}{escape_markdown(text)}{after}")
            )
            if t.type == "inline"
        ]
        assert len(inline) == 1
        assert all(
            child.type in ("text", "text_special", "entity") for child in inline[0].children or ()
        )
        assert (
            "".join(c.content for c in inline[0].children or ())
            == f"{before.strip('#- ')} {shown}{after}".strip()
        )


def test_code_spans_hold_text_that_code_can_hold() -> None:
    assert code_span("net.mtu{a=b}") == "`net.mtu{a=b}`"
    assert code_span("a|b") == "a&#124;b"
    assert code_span("{{ x }}") == "&#123;&#123; x &#125;&#125;"
    assert code_span("") == ""
    assert isinstance(code_span("x"), MarkdownText)


def test_a_page_has_no_time_of_its_own_and_says_what_was_not_measured() -> None:
    page = render_page(VIEW).decode()
    assert "not measured (node ports are closed on this cluster)" in page
    assert "| 87 | 3 | Constellation |" in page
    assert "min_duration: observed 2.5, expected at least 9" in page
    assert "no space left on device" in page
    assert "**contradicted**" in page


def test_absent_prices_and_limits_have_no_column() -> None:
    bare = replace(
        RUN,
        spec=replace(
            RUN.spec, targets=tuple(replace(t, price=None, limits=()) for t in RUN.spec.targets)
        ),
    )
    page = render_page(build_view(bare, make_analysis(bare))).decode()
    assert "Per price" in render_page(VIEW).decode()
    assert "Per price" not in page
    assert "Limit |" not in page


@pytest.mark.parametrize("view", [VIEW, HOSTILE_VIEW], ids=["sample", "hostile"])
def test_a_html_page_needs_nothing_and_allows_nothing(view: object) -> None:
    page = render_html(view).decode()  # type: ignore[arg-type]
    assert "default-src &#39;none&#39;" in page
    assert "<script" not in page
    assert not re.search(r"<[^>]*\s(src|onload|onerror|style)=", page)
    assert not re.findall(r'href="(?!#)', page)
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)


def test_a_summary_is_short_and_names_established_differences_first() -> None:
    text = render_summary(VIEW).decode()
    assert text.startswith("<!-- benchspec:summary -->\n### Constellation against AKS on Azure\n")
    assert text.index("13.03 % lower") < text.index("<details>")
    assert len(text) < 65_000
    assert len(render_summary(VIEW, limit=600).decode()) < 700


def test_an_author_template_sees_the_view_and_prints_sentences(tmp_path: Path) -> None:
    template = tmp_path / "mine.md.j2"
    template.write_text(
        "{% for w in view.workloads %}{% for c in w.cells %}{% for x in c.comparisons %}* {{ x"
        " }}\n{% endfor %}{% endfor %}{% endfor %}"
    )
    page = render_page(VIEW, template).decode()
    assert "On Constellation the throughput (geometric mean) is 13.03 % lower than on AKS" in page


def test_an_author_template_can_extend_its_own_parts_and_the_built_in_page(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "head.j2").write_text("# Mine: {{ view.title }}\n")
    template = tmp_path / "mine.md.j2"
    template.write_text('{% include "parts/head.j2" %}\n{% include "page.md.j2" %}')
    assert render_page(VIEW, template).startswith(b"# Mine: Constellation")


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("a\n{{ view.titel }}", 2, "titel"),
        ("a\nb\n{% for x in %}", 3, "Expected"),
        ("{{ nothing }}", 1, "nothing"),
        ("\n{% include 'other.j2' %}", None, "other.j2"),
        ("{% include '../secret.j2' %}", None, "secret.j2"),
        ("{% include 'link.j2' %}", None, "link.j2"),
        ("{% include '../sandbox.py' %}", None, "sandbox.py"),  # beside the built-in templates
        ("{{ view.__class__.__mro__ }}", 1, "__class__"),
        ("{{ ''.join.__globals__ }}", 1, "__globals__"),
        ("{{ view.title|tojson }}", 1, "tojson"),
        ("{{ view.title|safe }}", 1, "safe"),
        ("{{ 'x' * 1000000000 }}", 1, "operator"),
        ("{{ 9 ** 9 ** 9 }}", 1, "operator"),
        ("{{ '%1000000000d' % 1 }}", 1, "operator"),
        ("{{ '{:>1000000000}'.format(1) }}", 1, "format"),
        ("{{ 'x'.ljust(1000000000) }}", 1, "ljust"),
        ("{% for a in range(1000000000) %}x{% endfor %}", 1, "range"),
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
            1,
            "range",
        ),
        ("{% macro m() %}{{ m() }}{% endmacro %}\n{{ m() }}", 1, "recursion"),
        ("{{ view.title / 2 }}", 1, "unsupported"),
        ("{{ view.title.nothing() }}", 1, "nothing"),
        ("{% set x = view.workloads.append(1) %}", 1, "append"),
    ],
)
def test_a_wrong_template_is_named_with_file_and_line(
    tmp_path: Path, source: str, line: int | None, message: str
) -> None:
    (tmp_path.parent / "secret.j2").write_text("secret")
    inside = tmp_path / "templates"
    inside.mkdir()
    (inside / "link.j2").symlink_to(tmp_path.parent / "secret.j2")
    template = inside / "mine.md.j2"
    template.write_text(source)
    with pytest.raises(SpecError) as caught:
        render_page(VIEW, template)
    assert message in caught.value.message
    assert (caught.value.where or "").endswith(f"mine.md.j2:{line}" if line else "mine.md.j2")


DOUBLED = (
    "{%% set ns = namespace(x=%s) %%}{%% for i in range(60) %%}{%% set ns.x = %s %%}{%% endfor %%}"
)


@pytest.mark.parametrize(
    "source",
    [
        DOUBLED % ("'aaaaaaaaaaaaaaaa'", "ns.x ~ ns.x"),
        DOUBLED % ("['a']", "ns.x + ns.x"),
        DOUBLED % ("'aaaaaaaaaaaaaaaa'", "[ns.x, ns.x]|join"),
        DOUBLED % ("'aaaaaaaaaaaaaaaa'", "ns.x|replace('a', 'aa')"),
        "{{ [1]|batch(1000000000, 'x')|list|length }}",
    ],
)
def test_a_template_gets_no_more_than_some_memory(
    tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "MEMORY", 64 * 2**20)
    template = tmp_path / "mine.md.j2"
    template.write_text(source)
    with pytest.raises(SpecError, match="it asks for more than 64 MiB of memory") as caught:
        render_page(VIEW, template)
    assert caught.value.where == "mine.md.j2"


def test_a_template_gets_no_more_than_some_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "CPU_S", 1)
    template = tmp_path / "mine.md.j2"
    template.write_text("{% set n = view.raw %}" + "{% for a in n %}" * 12 + "{% endfor %}" * 12)
    with pytest.raises(SpecError, match="it takes more than 1 s"):
        render_page(VIEW, template)


def test_a_bug_while_rendering_is_no_spec_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError, match="ended with 1"):
        confined.confined(lambda: str(dict[str, str]()["lost"]), "page")
    assert "KeyError: 'lost'" in capfd.readouterr().err


def test_what_an_author_template_prints_is_escaped(tmp_path: Path) -> None:
    template = tmp_path / "mine.md.j2"
    template.write_text(
        "{% macro m(x) %}({{ x }}){% endmacro %}{% set s = '<b>[x](y)' %}{{ s }} {{ m(s) }} {{ s|e"
        " }} {{ [s]|join }} {{ view.labels[1:]|length + 3 }}"
    )
    escaped = "&lt;b&gt;&#91;x&#93;(y)"
    assert render_page(VIEW, template).decode() == f"{escaped} ({escaped}) {escaped} {escaped} 3\n"


def test_a_missing_template_is_a_spec_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nothing\.md\.j2"):
        render_page(VIEW, tmp_path / "nothing.md.j2")
