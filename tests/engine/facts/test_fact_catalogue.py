from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchspec.engine.facts import catalogue as facts
from benchspec.engine.facts.catalogue import Scope
from benchspec.engine.facts.commands.host import COMMANDS
from benchspec.engine.model.results import Fact

DATA = Path(__file__).parents[2] / "data" / "facts"
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "DIR": "/var/tmp",
}
SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]


def observe(
    environment: Mapping[str, str] = ENVIRONMENT, shell: tuple[str, ...] = ("/bin/sh",)
) -> dict[str, Fact]:
    done = subprocess.run(
        shell,
        input=facts.script().encode(),
        env=dict(environment),
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert done.stderr == b""
    return {fact.name: fact for fact in facts.parse(done.stdout)}


def grow(tree: Path, root: Path) -> None:
    """Make the files that a ``.tree`` describes (tests/data/facts/README.md)."""
    for part in tree.read_text().split("== ")[1:]:
        name, _, content = part.partition("\n")
        path, arrow, target = name.partition(" -> ")
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if arrow:
            place.symlink_to(target)
        elif path.endswith("/"):
            place.mkdir(exist_ok=True)
        else:
            place.write_text(content)


def schema() -> dict[str, object]:
    loaded: dict[str, object] = json.loads(
        (files("benchspec.schemas") / "facts.schema.json").read_text()
    )
    return loaded


def test_the_schema_is_one_and_names_every_command() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert [kind.name for kind in facts.fact_kinds().values() if kind.scope is Scope.HOST] == list(
        COMMANDS
    )
    assert len(COMMANDS) >= 40
    assert all(kind.description for kind in facts.fact_kinds().values())


def test_every_fact_says_whether_it_may_be_published() -> None:
    properties = schema()["properties"]
    assert isinstance(properties, dict)
    unsaid = [
        name for name, known in properties.items() if not isinstance(known.get("x-private"), bool)
    ]
    assert not unsaid
    kinds = facts.fact_kinds().values()
    assert not [kind.name for kind in kinds if kind.main and (kind.private or kind.moves)], (
        "never shown"
    )
    private = {kind.name for kind in kinds if kind.private}
    assert {"host.name", "machine.id", "cloud.instance", "boot.id", "ssh.host_key"} <= private


def test_what_the_schema_does_not_say_is_private() -> None:
    assert facts.is_published("cpu.model")
    assert facts.is_published("tool.fio.version")
    assert not facts.is_published("host.name")
    for unknown in (
        "",
        "cpu",
        "cpu.model.owner",
        "chassis.asset_tag",
        "x/cpu.model",
        "tool.fio.owner",
    ):
        assert not facts.is_published(unknown)
        assert facts.find_kind(unknown) is None


def test_this_host_tells_most_facts_in_good_time_and_they_fit_the_schema() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seen = observe()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    jsonschema.validate({name: fact.value for name, fact in seen.items()}, schema())
    known = [name for name, fact in seen.items() if fact.value is not None]
    assert len(known) >= 30
    assert not [name for name in known if seen[name].value == ""]
    assert (after.ru_utime + after.ru_stime) - (
        before.ru_utime + before.ru_stime
    ) < facts.TIMEOUT_S / 2


@pytest.fixture(scope="module")
def observed() -> dict[str, Fact]:
    return observe()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_fact_is_what_its_source_command_prints(name: str, observed: dict[str, Fact]) -> None:
    kind = facts.fact_kinds()[name]
    fact = observed[name]
    printed = subprocess.run(
        ["/bin/sh", "-c", kind.whole],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    ).stdout
    assert "$ROOT" not in kind.whole + fact.source
    assert "\n" not in kind.whole + fact.source
    assert len(fact.source) < 1200
    if kind.moves:
        assert (printed == "") == (fact.value is None)
    else:
        assert fact.value == facts.convert(printed, kind.type)
    assert fact.unit == kind.unit


@pytest.mark.parametrize("tree", sorted(DATA.glob("*.tree")), ids=lambda path: path.stem)
def test_other_machines(tree: Path, tmp_path: Path) -> None:
    grow(tree, tmp_path)
    seen = observe({**ENVIRONMENT, "ROOT": str(tmp_path)})
    expected = json.loads(tree.with_suffix(".json").read_text())
    assert {name: seen[name].value for name in expected} == expected
    jsonschema.validate({name: fact.value for name, fact in seen.items()}, schema())


@pytest.mark.parametrize("shell", SHELLS)
def test_every_posix_shell_tells_the_same(shell: str, tmp_path: Path) -> None:
    grow(DATA / "sev-snp-azure.tree", tmp_path)
    argv = ("busybox", "sh") if shell == "busybox" else (shell,)
    assert observe({**ENVIRONMENT, "ROOT": str(tmp_path)}, argv) == observe(
        {**ENVIRONMENT, "ROOT": str(tmp_path)}
    )


def test_a_machine_that_tells_nothing_has_unknown_facts_only(tmp_path: Path) -> None:
    assert [
        fact.name
        for fact in observe({**ENVIRONMENT, "ROOT": str(tmp_path / "empty")}).values()
        if fact.value is not None
    ] == []


def test_no_root_is_needed() -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to become somebody else")
    nobody = (
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "/bin/sh",
    )
    mine, theirs = observe(), observe(shell=nobody)
    lost = [
        name for name, fact in mine.items() if fact.value is not None and theirs[name].value is None
    ]
    assert set(lost) <= {
        "cvm.technology",
        "cvm.evidence",
        "cvm.basis",
    }  # a kernel may keep its log from ordinary users


def test_an_answer_that_was_cut_short_leaves_the_rest_unknown() -> None:
    cut = b"host.name\0alpha\0cpu.count\x001"
    seen = {fact.name: fact.value for fact in facts.parse(cut)}
    assert seen["host.name"] == "alpha"
    assert seen["cpu.count"] is None
    assert len(seen) == len(COMMANDS)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7\n", "integer", 7),
        ("7.5", "integer", None),
        ("", "integer", None),
        ("x", "number", None),
        ("nan", "number", None),
        ("0.5\n", "number", 0.5),
        ("true\n", "boolean", True),
        ("false", "boolean", False),
        ("1", "boolean", None),
        (" a \n b ", "string", "a b"),
        ("\n", "string", None),
    ],
)
def test_conversion(text: str, kind: str, value: object) -> None:
    assert facts.convert(text, kind) == value
    assert type(facts.convert(text, kind)) is type(value)


VALUES = st.lists(st.tuples(st.sampled_from(sorted(COMMANDS)), st.text(max_size=20)), max_size=5)


@settings(max_examples=50)
@given(
    VALUES.map(
        lambda pairs: "".join(f"{name}\0{text}\0" for name, text in pairs).encode(
            "utf-8", "replace"
        )
    )
    | st.binary(max_size=300)
)
def test_any_bytes_are_parsed(output: bytes) -> None:
    seen = {fact.name: fact.value for fact in facts.parse(output)}
    assert list(seen) == list(COMMANDS)
    jsonschema.Draft202012Validator(schema()).validate(seen)
