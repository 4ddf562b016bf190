"""What the pages say is so: links resolve, commands exist, specs validate and plan, generated pages
are fresh.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from benchspec.api.planning import plan
from benchspec.cli.app import VERBS, app
from benchspec.engine.language.load import check_spec
from benchspec.engine.model.diagnostics import Severity
from benchspec.engine.model.exit_codes import EXIT_CODES
from tests.docs.pages import PAGES, ROOT, Block, all_blocks, anchors, blocks, links

SPECS = [block for block in all_blocks("yaml") if "apiVersion:" in block.text]
MAIN_COMMAND = (
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/benchspec run"
    " specs/quickstart.yaml --install-tools"
)
TEST_COMMAND = "tests/setup && python3 -m venv .venv && .venv/bin/pip install tox && .venv/bin/tox"


def test_the_pages_are_found() -> None:
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md"} <= {page.name for page in PAGES}
    assert len(SPECS) >= 7


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    for target in links(page):
        if re.match(r"[a-z]+://|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), f"{page}: {target} does not exist"
        assert linked.is_relative_to(ROOT), f"{page}: {target} leaves the repository"
        assert not anchor or anchor in anchors(linked), f"{page}: {target} has no such heading"


def test_links_are_seen_and_a_broken_one_would_fail(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# A b, c!\n[x](missing.md) `[no](code.md)`\n```sh\n[no](block.md)\n```\n")
    assert links(page) == ["missing.md"]
    assert anchors(page) == {"a-b-c"}


@pytest.mark.parametrize("block", SPECS, ids=str)
def test_specs_validate_and_plan(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert [str(found) for found in check_spec(path) if found.severity is Severity.ERROR] == []
    assert plan(path).plan.order


def calls(text: str) -> Iterator[list[str]]:
    """Every call of benchspec in shell text, without the program's name."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|\||;", line.split("#")[0]):
            words = shlex.split(part)
            if words and words[0].rpartition("/")[2] == "benchspec":
                yield words[1:]


def check_call(words: list[str]) -> None:
    """Parse a call as click would, without running it."""
    if words[0].startswith("-"):
        app.make_context("benchspec", list(words), resilient_parsing=True)
        return
    command = app.get_command(click.Context(app), words[0])
    assert command is not None, f"there is no verb {words[0]!r}"
    known = {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    } | {"-h", "--help"}
    unknown = [
        word
        for word in words[1:]
        if word.startswith("-") and word != "-" and word.split("=")[0] not in known
    ]
    assert not unknown, f"benchspec {words[0]} has no option {unknown[0]}"
    command.make_parser(click.Context(command)).parse_args(args=words[1:])


CALLS = [(block, words) for block in all_blocks("sh") for words in calls(block.text)]


@pytest.mark.parametrize(
    ("block", "words"),
    CALLS,
    ids=lambda value: str(value) if isinstance(value, Block) else " ".join(value),
)
def test_commands_name_existing_verbs_and_options(block: Block, words: list[str]) -> None:
    check_call(words)


def spans() -> list[str]:
    """Calls in code spans, such as `benchspec plan --json`."""
    found = {
        span
        for page in PAGES
        for span in re.findall(r"`(benchspec [^`\n]+)`", page.read_text(encoding="utf-8"))
    }
    return sorted(span for span in found if re.match(r"benchspec (-|[a-z])", span))


@pytest.mark.parametrize("span", spans())
def test_code_spans_name_existing_verbs(span: str) -> None:
    verb, *rest = span.split()[1:]
    command = app.get_command(click.Context(app), verb)
    assert command is not None or verb.startswith("-"), span
    known = (
        {option for parameter in command.params for option in parameter.opts} if command else set()
    )
    assert {word for word in rest if word.startswith("--")} <= known, span


@pytest.mark.parametrize("wrong", ["rum x.yaml", "run --outt x x.yaml"])
def test_a_wrong_command_would_fail(wrong: str) -> None:
    with pytest.raises((AssertionError, click.UsageError)):
        check_call(wrong.split())


def test_the_commands_of_this_page_are_found() -> None:
    assert len(CALLS) > 15
    assert {words[0] for _, words in CALLS} >= {
        "init",
        "validate",
        "plan",
        "run",
        "resume",
        "clean",
        "report",
        "compare",
        "doctor",
        "diff",
    }


def test_the_changelog_names_every_verb() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f"`{verb}`" not in text] == []


def test_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_page_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "generate.py"
    copy.write_bytes((ROOT / "docs" / "generate.py").read_bytes())
    assert (
        subprocess.run([sys.executable, str(copy)], check=False, capture_output=True).returncode
        == 0
    )
    page = tmp_path / "findings.md"
    page.write_text(page.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(copy), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "docs/findings.md: stale" in done.stdout


def test_the_readme_begins_with_a_spec_and_the_page_it_makes() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "apiVersion: benchspec/v1" in next(blocks(ROOT / "README.md", "yaml")).text
    assert (
        text.index("```yaml")
        < text.index("<!-- page excerpt -->")
        < text.index("<!-- /page excerpt -->")
        < text.index(MAIN_COMMAND)
    )


def test_the_readme_gives_the_two_commands() -> None:
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.text.splitlines()]
    assert MAIN_COMMAND in lines
    assert TEST_COMMAND in lines
    assert (ROOT / "specs" / "quickstart.yaml").is_file()


def test_the_readme_lists_every_exit_code() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\d+)` \| ([^|]+?) \|$", text, re.MULTILINE))
    assert rows == {str(code): found.title for code, found in EXIT_CODES.items()}


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "adr"
    records = {path.name for path in folder.glob("[0-9]*.md")}
    assert records == {target for target in links(folder / "README.md") if "/" not in target}
    for record in records:
        text = (folder / record).read_text(encoding="utf-8")
        assert [
            part for part in ("## Context", "## Decision", "## Consequences") if part not in text
        ] == [], record


def test_every_term_of_the_glossary_comes_once() -> None:
    terms = re.findall(
        r"^\| ([a-z][^|]*?) \|",
        (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(terms) == len(set(terms)) > 25


def hook() -> dict[str, object]:
    (found,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_the_hook_looks_at_specs_only() -> None:
    assert hook()["id"] == "benchspec-validate"
    pattern = re.compile(str(hook()["files"]))
    assert [
        name
        for name in ("specs/a.yaml", "x/specs/c.yml", "team.benchspec.yaml")
        if not pattern.search(name)
    ] == []
    assert [
        name
        for name in ("a.yaml", "myspecs/a.yaml", "specs/vault/values.yaml", "specs/run.sh")
        if pattern.search(name)
    ] == []


@pytest.mark.parametrize(
    ("spec", "code"), [("specs/quickstart.yaml", 0), ("broken.benchspec.yaml", 2)]
)
def test_the_hook_s_entry_checks_a_spec(spec: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "broken.benchspec.yaml").write_text(
        "apiVersion: benchspec/v1\nkind: Benchmark\nnmae: x\n"
    )
    path = ROOT / spec if spec.startswith("specs/") else tmp_path / spec
    program, *arguments = shlex.split(str(hook()["entry"]))
    assert program == "benchspec"
    call = "import sys; from benchspec.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", call, *arguments, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
