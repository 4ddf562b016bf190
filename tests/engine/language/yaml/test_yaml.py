"""Reading YAML: what scalars mean, what is refused, where things lie, and that no input does
harm.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.language.load import check_spec
from benchspec.engine.language.yaml.nodes import MOST_DEPTH, MOST_NODES
from benchspec.engine.language.yaml.scalars import Trap, plain_value
from benchspec.engine.language.yaml.source import MOST_BYTES, Source, read_yaml
from benchspec.engine.model.diagnostics import InvalidSpec

HEAD = "apiVersion: benchspec/v1\nkind: Benchmark\nname: x\ntitle: X\n"


def read(text: str) -> Source:
    return read_yaml(text.encode(), "s.yaml")


def refused(text: str | bytes) -> str:
    with pytest.raises(InvalidSpec) as caught:
        read_yaml(text if isinstance(text, bytes) else text.encode(), "s.yaml")
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("+3", 3),
        ("1.5", 1.5),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.5e-3", 0.0015),
        ("1E+2", 100.0),
        ("60 s", "60 s"),
        ("2023-03-20", "2023-03-20"),
        ("1.24.9", "1.24.9"),
        ("y", "y"),
        ("n", "n"),
        ("none", "none"),
        ("-", "-"),
        ("...", "..."),
        ("1/s", "1/s"),
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("::1", "::1"),
        ("0.5", 0.5),
        ("9" * 65, "9" * 65),
        ("=", "="),
        ("yesterday", "yesterday"),
        ("1a", "1a"),
        ("0x", "0x"),
    ],
)
def test_plain_scalars(text: str, value: object) -> None:
    assert plain_value(text) == value
    assert type(plain_value(text)) is type(value)


@pytest.mark.parametrize("text", ["yes", "No", "ON", "off", "True", "FALSE", "Yes"])
def test_other_spellings_of_booleans_are_refused(text: str) -> None:
    trap = plain_value(text)
    assert isinstance(trap, Trap)
    assert trap.code == "BS011"


@pytest.mark.parametrize(
    "text",
    [
        "010",
        "0755",
        "-017",
        "0x1F",
        "0o17",
        "0b101",
        "1:30",
        "190:20:30.5",
        "1_000",
        "00",
        "01.5",
        "1_0.5",
    ],
)
def test_numbers_readers_disagree_about_are_refused(text: str) -> None:
    trap = plain_value(text)
    assert isinstance(trap, Trap)
    assert trap.code == "BS012"


@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", ".NaN", "1e400", "-1e999"])
def test_numbers_that_are_not_finite_are_refused(text: str) -> None:
    trap = plain_value(text)
    assert isinstance(trap, Trap)
    assert trap.code == "BS019"


@given(st.text(alphabet="0123456789+-._:eExobaflsetrunyi ", max_size=12))
def test_a_value_that_is_given_is_what_yaml_1_1_says_too_or_a_text_there(text: str) -> None:
    """Where PyYAML (YAML 1.1) takes a number or boolean for something else than we do, we refuse it
    or it takes it for a text.
    """
    value = plain_value(text.strip())
    if isinstance(value, Trap) or text.strip() != text or not text:
        return
    try:
        theirs = yaml.safe_load(f"[{text}]")
    except (yaml.YAMLError, ValueError):
        return
    if isinstance(theirs, list) and len(theirs) == 1 and isinstance(theirs[0], bool | int | float):
        assert value == theirs[0] or isinstance(value, float)


def test_keys_are_texts_whatever_yaml_1_1_takes_them_for() -> None:
    assert read("on: 1\nyes: 2\n'1': 3\n").data == {"on": 1, "yes": 2, "1": 3}
    source = read("1: a\nnull: b\n? [a]\n: c\n")
    assert [fault.code for fault in source.faults] == ["BS014"] * 3


def test_quotes_make_texts() -> None:
    assert read("a: '010'\nb: \"yes\"\nc: |\n  true\nd: !!str 1\n").data == {
        "a": "010",
        "b": "yes",
        "c": "true\n",
        "d": "1",
    }


def test_every_duplicate_names_both_lines() -> None:
    source = read("a: 1\nb: {c: 1, c: 2}\na: 2\na: 3\n")
    assert [(f.line, f.column, f.path, f.found) for f in source.faults] == [
        (2, 11, "$.b.c", 'the key "c" again, which line 2 has already'),
        (3, 1, "$.a", 'the key "a" again, which line 1 has already'),
        (4, 1, "$.a", 'the key "a" again, which line 1 has already'),
    ]


def test_a_merge_key_is_refused_once_and_hides_nothing_else() -> None:
    source = read("a: &a {b: 1}\nc: {<<: *a, d: 2}\ne: {<<: 3}\n")
    assert [fault.code for fault in source.faults] == ["BS015", "BS015"]
    assert source.data == {"a": {"b": 1}, "c": {"b": 1, "d": 2}, "e": {}}


def test_aliases_give_values() -> None:
    assert read("a: &a [1, {b: 2}]\nc: *a\nd: [*a, *a]\n").data == {
        "a": [1, {"b": 2}],
        "c": [1, {"b": 2}],
        "d": [[1, {"b": 2}]] * 2,
    }


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system [id]",
        "!!python/name:os.system x",
        "!!int 3",
        "!foo {}",
        "!!binary aGk=",
        "!!set {a}",
    ],
)
def test_tags_are_refused(tag: str) -> None:
    assert {fault.code for fault in read(f"a: {tag}\n").faults} == {"BS013"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "BS005"),
        ("---\n", "BS005"),
        ("# c\n", "BS005"),
        ("a", "BS007"),
        ("- a", "BS007"),
        ("3", "BS007"),
        ("a: 1\n---\nb: 2\n", "BS006"),
        ("a: 1\n---\n", "BS006"),
        ("a:\n\tb: 1\n", "BS009"),
        ("a: b: c\n", "BS008"),
        ("a: *b\n", "BS008"),
        ("a: @b\n", "BS008"),
        ("a: [1\n", "BS008"),
        ("a: 'x\n", "BS008"),
        ("a: \x00\n", "BS008"),
        ("a: \x9f\n", "BS008"),
        ("%TAG ! x\n---\na: 1\n", "BS013"),
        ("%YAML 3.0\n---\na: 1\n", "BS008"),
        ("a: !<\n", "BS008"),
        ("}", "BS008"),
        ("a: |\n\t\tx\n b\n", "BS009"),
    ],
)
def test_documents_that_are_refused(text: str, code: str) -> None:
    assert refused(text) == code


def test_an_error_at_the_end_points_behind_the_last_line() -> None:
    with pytest.raises(InvalidSpec) as caught:
        read("a: 1\nb: [1,\n\n\n")
    (found,) = caught.value.diagnostics
    assert (found.line, found.column, found.excerpt) == (2, 7, "b: [1,")


HOSTILE = {
    "flow sequences": "[" * (MOST_BYTES - 1),
    "flow mappings": "{a: " * (MOST_BYTES // 4 - 1),
    "braces": "{" * (MOST_BYTES - 1),
    "block sequences": "- " * (MOST_BYTES // 2 - 1),
    "questions": "? " * (MOST_BYTES // 2 - 1),
    "indentation": "".join(f"{' ' * level}a:\n" for level in range(1400)),
    "many keys": "".join(f"k{number}: 1\n" for number in range(80_000)),
    "many items": "a: [" + ",".join("1" * 400_000) + "]",
    "many anchors": "".join(f"- &a{number} x\n" for number in range(70_000)),
    "billion laughs": (
        "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
    ),
    "long text": "a: &a " + "x" * 500_000 + "\nb: [" + "*a," * 10_000 + "]\n",
    "deep by aliases": "".join(
        f"a{n}: &a{n} " + "[" * 30 + (f"*a{n - 1}" if n else "1") + "]" * 30 + "\n"
        for n in range(500)
    ),
    "tag directives": "".join(f"%TAG !a{number}! b\n" for number in range(45_000)),
    "duplicate keys": "a: 1\n" * 9_000,
    "quadratic merges": (
        "a: &a {"
        + ",".join(f"k{n}: 1" for n in range(4_000))
        + "}\nb: {"
        + "<<: *a, " * 4_000
        + "}\n"
    ),
    "long line": HEAD + "x-a: '" + "y" * (MOST_BYTES - 200) + "'\n",
    "colons": "a:" * (MOST_BYTES // 2 - 1),
    "long number": "a: " + "9" * 500_000,
    "spaces in a quantity": (
        HEAD
        + "targets: {a: {runner: local, storage: {size: '1"
        + " " * 400_000
        + "x'}}}\nworkloads: {}\n"
    ),
    "references": (
        HEAD + "vars: {a: " + "x" * 100_000 + "}\ndescription: '" + "${var:a}" * 50_000 + "'\n"
    ),
    "open references": HEAD + "description: '" + "${" * 400_000 + "'\n",
    "matrix": (
        HEAD
        + "targets: {a: {runner: local}}\nworkloads: {w: {tool: fio, matrix: {"
        + ", ".join(
            f"{axis}: [{', '.join(map(str, range(1, 1000)))}]"
            for axis in ("iodepth", "numjobs", "rwmixread", "fsync")
        )
        + "}, exclude: [{iodepth: 3}]}}\n"
    ),
    "many targets and workloads": (
        HEAD
        + "targets:\n"
        + "".join(f"  t{n}: {{runner: local, cpus: [0]}}\n" for n in range(1_500))
        + "workloads:\n"
        + "".join(f"  w{n}: {{tool: fio, cpus: [0], path: loopback}}\n" for n in range(1_500))
    ),
    "many exclusions": (
        HEAD
        + "targets: {a: {runner: local}}\nworkloads: {w: {tool: fio, matrix: {iodepth: ["
        + ", ".join(map(str, range(1, 300)))
        + "], numjobs: ["
        + ", ".join(map(str, range(1, 300)))
        + "]}, exclude: ["
        + ", ".join(f"{{iodepth: {n}}}" for n in range(4_000))
        + "]}}\n"
    ),
    "unknown facts": (
        HEAD
        + "targets: {a: {runner: local, facts: {"
        + ", ".join(f"kernel.relese{n}: x" for n in range(5_000))
        + "}}}\nworkloads: {w: {tool: fio}}\n"
    ),
    "unknown tools": (
        HEAD
        + "targets: {a: {runner: local}}\nworkloads:\n"
        + "".join(f"  w{n}: {{tool: fioo{n}}}\n" for n in range(3_000))
    ),
    "unknown names": (
        HEAD
        + "targets: {a: {runner: local}}\nworkloads: {w: {tool: fio, targets: ["
        + ", ".join(f"b{n}" for n in range(9_000))
        + "]}}\n"
    ),
    "wrong everywhere": (
        HEAD
        + "targets: {a: {runner: local}}\nworkloads: {w: {tool: fio, with: {"
        + ", ".join(f"k{n}: 1" for n in range(9_000))
        + "}}}\n"
    ),
    "wrong points": (
        HEAD + "targets: {a: {runner: local}}\nworkloads: {w: {tool: fio, with: {sizee: 1}, matrix:"
        " {iodepth: [" + ", ".join(map(str, range(1, 9_000))) + "]}}}\n"
    ),
}

MEASURE = """
import resource, sys
from pathlib import Path
from benchspec.engine.language.load import check_spec
import benchspec.engine.language.schema.explain
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
codes = sorted({found.code for found in check_spec(Path(sys.argv[1]))})
after = resource.getrusage(resource.RUSAGE_SELF)
print((after.ru_maxrss - before) // 1024, *codes)
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_end_in_an_error_and_cost_little_memory(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(HOSTILE[name], encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    megabytes, *codes = result.stdout.split()
    assert codes
    assert int(megabytes) < 100


def test_the_bounds_are_those_that_are_documented() -> None:
    assert refused("a: " + "[" * MOST_DEPTH + "]" * MOST_DEPTH) == "BS018"
    assert read("a: " + "[" * (MOST_DEPTH - 1) + "]" * (MOST_DEPTH - 1)).faults == ()
    assert refused("a:\n" + "- 1\n" * MOST_NODES) == "BS017"
    assert read("a:\n" + "- 1\n" * (MOST_NODES - 10)).faults == ()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        source = read_yaml(data, "s.yaml")
    except InvalidSpec as error:
        messages = error.diagnostics
    else:
        messages = source.faults
    for message in messages:
        assert all(line.isprintable() for line in str(message).split("\n"))
        assert len(str(message)) < 3000


@given(
    text=st.text(
        alphabet="abx:-?[]{},&*!|>'\"%@`# \n\t0159.~<${}\u2028\x85\xe9\U0001f600", max_size=60
    )
)
def test_any_text_is_checked_without_surprise(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes((HEAD + text).encode())
    for message in check_spec(path):
        assert message.line >= 1
        assert message.column >= 1
        assert all(line.isprintable() for line in str(message).split("\n"))


def test_places_of_keys_values_and_items() -> None:
    source = read("a:\n  b: [1, {c: x}]\n")
    key, value = source.key_and_value(("a", "b", 1, "c"))
    assert key is not None
    assert value is not None
    assert (key.start_mark.line, key.start_mark.column, value.start_mark.column) == (1, 10, 13)
    assert source.key_and_value(("a", "z")) == (None, None)
    assert source.key_and_value(("a", "b", 9)) == (None, None)
    assert source.key_and_value(("a", 0)) == (None, None)
    assert source.line(99) == ""
    assert source.line(2) == "  b: [1, {c: x}]"
