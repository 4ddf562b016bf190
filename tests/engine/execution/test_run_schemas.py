"""What runs store is what their published schemas say: every line and file of real runs, every
record type and every stored field of the code.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import json
import os
import subprocess
import time
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import benchspec
from benchspec.cli.clean import command as clean
from benchspec.engine.execution import history, trial
from benchspec.engine.execution import trial_result as outcome
from benchspec.engine.execution.run import Options
from benchspec.engine.language.schema.registry import RUN, SchemaCheck, run_schema
from benchspec.engine.lifecycle import state as standing
from benchspec.engine.lifecycle.step.order import Phase
from benchspec.engine.model.errors import (
    BenchspecError,
    DriftError,
    GateFailed,
    Interrupted,
    RunFailed,
)
from benchspec.engine.model.results import ClaimCheck, FactSet, Finding, Trial, UsedCommands
from benchspec.engine.planning.plan import Plan
from benchspec.engine.store.journal import FORMAT_VERSION, parse_line
from benchspec.engine.store.manifest import FORMAT
from tests.engine.execution.bench import (
    count,
    execute,
    make_run,
    run_cli,
    spec_document,
    start_cli,
    write_spec,
)
from tests.engine.execution.pairs import Pair, execute_pair, make_pair_run

PACKAGE = Path(benchspec.__file__).parent
ROOMS = ("cli", "engine", "workloads", "runners", "reports")
ONCE: Mapping[str, Any] = {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1}
Stored = dict[str, list[dict[str, Any]]]
"""What runs have stored: journal records, manifests, plans and trials, by the name of their
schema.
"""


def schema(name: str) -> SchemaCheck:
    found = run_schema(name)
    assert found is not None
    return found


CHECKS = {name: schema(name) for name in RUN}


def part(name: str, *path: str) -> dict[str, Any]:
    """A part of a schema, with its references followed."""
    root: Any = CHECKS[name].document
    found = root
    for step in path:
        found = followed(root, found[step])
    assert isinstance(found, dict)
    return found


def followed(root: Mapping[str, Any], found: Any) -> Any:
    while isinstance(found, dict) and "$ref" in found:
        rest = {key: value for key, value in found.items() if key != "$ref"}
        found = {**root["$defs"][found["$ref"].removeprefix("#/$defs/")], **rest}
    return found


TYPES: frozenset[str] = frozenset(part("journal", "properties", "type")["enum"])


def step(name: str, script: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "run": ["sh", "-c", script], **more}


def one_target(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    document = spec_document(tmp_path / "counter", **{"method": ONCE, **changes})
    document["targets"].pop("b")
    document.pop("compare")
    return document


def claims_gates_and_missing_tools(tmp_path: Path) -> Path:
    """Stopped by a contradicted claim, then measured all the same, in two stages, without the tool
    of one workload and with failing gates.
    """
    script = 'printf x >> "$COUNTER"; n=$(wc -c < "$COUNTER"); echo "rate: $((100 + n % 7))"'
    method = {**ONCE, "sessions": 2, "precision": {"half_width": "0.1 %", "max_sessions": 3}}
    document = one_target(tmp_path, script=script, method=method)
    document["targets"]["a"]["facts"] = {"os.id": "plan9", "os.name": "Debian GNU/Linux"}
    document["workloads"]["absent"] = {
        "tool": "command",
        "with": {"run": ["no-such-program-x"], "duration": "1 s"},
    }
    document["workloads"]["gated"] = copy.deepcopy(document["workloads"]["count"]) | {
        "gates": {"min_duration": "1 h"}
    }
    document["workloads"]["gated"]["with"]["duration"] = "2 h"
    path = make_run(tmp_path, document).path
    with pytest.raises(DriftError):
        execute(path)
    with pytest.raises(GateFailed):
        execute(path, Options(allow_drift=True))
    return path


def lifecycles(tmp_path: Path) -> Path:
    """One target comes up, with outputs, a secret, a wait and several tries; one does not, nor can
    it be destroyed. Then all is cleaned.
    """
    document = spec_document(tmp_path / "counter", method=ONCE)
    flaky = f'printf x >> "{tmp_path}/tries"; test $(wc -c < "{tmp_path}/tries") -ge 2 && echo id-7'
    document["targets"]["a"]["lifecycle"] = {
        "per": "session",
        "bootstrap": [
            step("flaky", flaky, retries=2, retry_delay="10 ms", capture={"id": {"stdout": True}}),
            step(
                "token",
                'echo "$TOKEN"',
                env={"TOKEN": "${secret:env:TEST_TOKEN}"},
                capture={"token": {"stdout": True}},
            ),
        ],
        "ready": [{"name": "settle", "wait": {"seconds": "10 ms"}}],
        "destroy": [step("down", "echo ${output:flaky.id}")],
    }
    document["targets"]["b"]["lifecycle"] = {
        "bootstrap": [step("broken", "echo no such thing >&2; exit 3")],
        "destroy": [step("stuck", f"test -e {tmp_path}/ok")],
    }
    path = make_run(tmp_path, document).path
    with pytest.raises(RunFailed):
        execute(path)
    (tmp_path / "ok").touch()
    result = CliRunner().invoke(clean, [str(path), "--yes"])
    assert result.exit_code == 0, result.output
    return path


def failures(tmp_path: Path) -> Path:
    """A hanging program, and one that prints no figure."""
    document = one_target(tmp_path, script="sleep 60")
    document["workloads"]["count"]["with"]["timeout"] = "200 ms"
    document["workloads"]["silent"] = copy.deepcopy(document["workloads"]["count"])
    document["workloads"]["silent"]["with"]["run"][2] = "exit 42"
    path = make_run(tmp_path, document).path
    with pytest.raises(RunFailed):
        execute(path)
    return path


def tools(tmp_path: Path) -> Path:
    """A server and its clients, and a program whose files are fetched; storage and a price in the
    plan; a data sink.
    """
    target = {
        "sites": {"client": "here", "server": "here", "data-sink": "keep"},
        "storage": {"path": str(tmp_path), "cache": "none"},
        "price": {
            "per_hour": 0.2,
            "currency": "USD",
            "source": "https://example.org/prices",
            "as_of": "2026-03-01",
        },
    }
    sites = {"here": {"kind": "local"}, "keep": {"kind": "local", "workdir": str(tmp_path / "far")}}
    document = spec_document(tmp_path / "counter", sites=sites, targets={"a": target}, method=ONCE)
    document.pop("compare")
    document["workloads"] = {
        "net": {
            "tool": "iperf3",
            "with": {"duration": "1 s"},
            "path": "loopback",
            "placement": "same-node",
            "matrix": {"streams": [1]},
        },
        "disk": {
            "tool": "fio",
            "with": {
                "engine": "psync",
                "direct": False,
                "rw": "randread",
                "bs": "4 KiB",
                "size": "1 MiB",
                "runtime": "200 ms",
            },
            "gates": {"max_steal": "100 %"},
        },
    }
    path = make_run(tmp_path, document).path
    execute(path)
    return path


def pairs(tmp_path: Path) -> Path:
    """Two clients in one trial, which begin together; their target stands already."""
    document = one_target(tmp_path, seconds=0.05)
    document["targets"]["a"]["lifecycle"] = {
        "bootstrap": [step("up", "true")],
        "destroy": [step("down", "true")],
    }
    spec = write_spec(tmp_path / "stands.yaml", document)
    brought = run_cli("up", str(spec), "--yes", "--out", str(tmp_path / "stands"))
    assert brought.returncode == 0, brought.stderr
    done = run_cli(
        "run",
        str(spec),
        "--yes",
        "--up",
        str(tmp_path / "stands"),
        "--out",
        str(tmp_path / "adopting"),
    )
    assert done.returncode == 0, done.stderr
    assert run_cli("down", str(tmp_path / "stands"), "--yes").returncode == 0
    path = make_pair_run(tmp_path, document, Pair()).path
    assert all(one.start_skew_s is not None for one in execute_pair(path, Pair()))
    lines = (path / "journal.ndjson").read_bytes() + (
        tmp_path / "adopting" / "journal.ndjson"
    ).read_bytes()
    (path / "journal.ndjson").write_bytes(lines)  # read line by line alone
    return path


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def killed(tmp_path: Path) -> Path:
    """The controller is killed while a trial is measured, which the next one collects."""
    document = one_target(tmp_path, seconds=0.7)
    path = make_run(tmp_path, document).path
    with start_cli("resume", str(path), "--yes", "--quiet", stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: count(tmp_path / "counter") == 1)
        process.kill()
    assert any(one.reattached for one in execute(path))
    return path


def repeated(tmp_path: Path) -> Path:
    """The first two programs are killed from outside: one is measured again, and the session that
    lost its pair is made up for.
    """
    script = """
printf x >> "$COUNTER"; [ "$(wc -c < "$COUNTER")" -gt 2 ] || kill -9 $$; echo "rate: 42.5"
"""
    method = {"sessions": 3, "trials": 1, "warmups": 0, "seed": 7, "retries": 1}
    path = make_run(
        tmp_path, spec_document(tmp_path / "counter", script=script, method=method)
    ).path
    execute(path)
    return path


FIRST_SLEEPS = (
    'printf x >> "$COUNTER"; [ "$(wc -c < "$COUNTER")" -ne 1 ] || sleep 60; echo "rate: 42.5"'
)


def interrupted(tmp_path: Path, stored: Stored) -> Path:
    """A signal while a trial is measured. Then the journal loses its end, so that the trial has
    neither a result nor a job that could be found.
    """
    counter = tmp_path / "counter"
    path = make_run(
        tmp_path, one_target(tmp_path, script=FIRST_SLEEPS, method={**ONCE, "warmups": 1})
    ).path
    alarm = subprocess.Popen(
        ["sh", "-c", f"until test -s {counter}; do sleep 0.05; done; kill -INT {os.getpid()}"]
    )
    with pytest.raises(Interrupted):
        execute(path)
    alarm.wait()
    journal = path / "journal.ndjson"
    written = journal.read_bytes()
    collect(path, stored)
    journal.write_bytes(
        written[: written.index(b"\n", written.index(b'"type":"trial.started"')) + 1]
    )
    execute(path)
    return path


def collect(path: Path, stored: Stored) -> None:
    """Add everything the run in ``path`` has stored."""
    stored["journal"] += [
        json.loads(line) for line in (path / "journal.ndjson").read_bytes().splitlines()
    ]
    stored["manifest"].append(json.loads((path / "manifest.json").read_bytes()))
    stored["plan"].append(json.loads((path / "plan.json").read_bytes()))
    stored["trial"] += [
        json.loads(file.read_bytes()) for file in sorted(path.glob("raw/*/trial.json"))
    ]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    found: Stored = {name: [] for name in RUN}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_TOKEN", "canary-4711")
        for make in (
            claims_gates_and_missing_tools,
            lifecycles,
            failures,
            tools,
            pairs,
            killed,
            repeated,
        ):
            collect(make(tmp_path_factory.mktemp("run")), found)
        collect(interrupted(tmp_path_factory.mktemp("run"), found), found)
    return found


@pytest.mark.parametrize("name", RUN)
def test_everything_real_runs_store_validates(stored: Stored, name: str) -> None:
    assert len(stored[name]) >= 6
    for value in stored[name]:
        assert CHECKS[name].problems(value) == (), value


def test_the_runs_have_seen_every_type_of_record_and_both_reasons_for_a_loss(
    stored: Stored,
) -> None:
    by_type: dict[str, list[Any]] = {}
    for record in stored["journal"]:
        by_type.setdefault(record["type"], []).append(record["data"])
    assert by_type.keys() == TYPES
    assert {key for data in by_type["trial.lost"] for key in data} == {"sequence", "reason", "jobs"}
    assert {data["status"] for data in by_type["trial.finished"]} == {"valid", "invalid", "failed"}
    assert {data.get("error_kind") for data in by_type["trial.finished"]} == {
        None,
        "timeout",
        "exit",
        "killed",
        "allocation",
    }
    assert {key for data in by_type["trial.finished"] for key in data} == part(
        "journal", "$defs", "trial.finished"
    )["properties"].keys()
    assert {key for data in by_type["step.finished"] for key in data} == part(
        "journal", "$defs", "step.finished"
    )["properties"].keys()
    assert [data["sessions"] for data in by_type["plan.extended"]] == [3], "one more than planned"
    assert "canary-4711" not in json.dumps(stored)


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every place below ``value``: its path without indices, what holds it, and its key there."""
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        at = (*path, key) if isinstance(key, str) else path
        yield at, value, key
        yield from places(inner, at)


FREE = {
    ("data", "facts", "value"),
    ("data", "declared"),
    ("data", "observed"),
    ("experiments", "parameters"),
    ("experiments", "storage"),
}
"""Where any JSON value may stand, or any key."""


def is_free(path: tuple[str, ...]) -> bool:
    return any(path[: len(free)] == free for free in FREE)


@pytest.mark.parametrize("name", RUN)
def test_an_unknown_field_or_a_value_of_another_type_is_refused_wherever_it_stands(
    stored: Stored, name: str
) -> None:
    kinds = {record.get("type", ""): record for record in stored[name]}
    seen = set()
    for kind, whole in kinds.items():
        value = copy.deepcopy(whole)
        assert CHECKS[name].accepts(value)
        assert not CHECKS[name].accepts({**value, "unknown": {}})
        for path, holder, key in list(places(value)):
            if is_free(path) or (kind, path) in seen:
                continue
            seen.add((kind, path))
            was = holder[key]
            for wrong in (
                [[]],
                {"unknown": {}},
                *([{**was, "unknown": {}}] if isinstance(was, dict) else []),
            ):
                holder[key] = wrong
                assert not CHECKS[name].accepts(value), (kind, path, wrong)
            holder[key] = was
    assert len(seen) > 10


def test_a_trial_has_figures_or_an_error_with_its_kind(stored: Stored) -> None:
    records = [record for record in stored["journal"] if record["type"] == "trial.finished"]
    valid = next(record for record in records if record["data"]["status"] == "valid")
    failed = next(record for record in records if record["data"]["status"] == "failed")
    reason = {key: failed["data"][key] for key in ("error", "error_kind")}
    assert not CHECKS["journal"].accepts({**valid, "data": {**valid["data"], **reason}})
    for key in reason:
        assert not CHECKS["journal"].accepts(
            {**failed, "data": {k: v for k, v in failed["data"].items() if k != key}}
        )
    assert not CHECKS["journal"].accepts({**valid, "data": {**valid["data"], "status": "failed"}})


def appended(source: str, module: str) -> Iterator[str]:
    """The types of the records that a module appends to a journal. The names of constants are
    looked up in the module itself.
    """
    for call in ast.walk(ast.parse(source)):
        if not (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "append"
        ):
            continue
        receiver = ast.unparse(call.func.value).lower()
        if "journal" in receiver or (
            len(call.args) + len(call.keywords) > 1 and receiver != "np"
        ):  # a list's takes one argument
            yield from told(call.args[0], module)


def told(expression: ast.expr, module: str) -> Iterator[str]:
    if isinstance(expression, ast.IfExp):
        yield from (*told(expression.body, module), *told(expression.orelse, module))
    elif isinstance(expression, ast.Name):
        yield getattr(importlib.import_module(module), expression.id)
    else:
        yield ast.literal_eval(expression)


def test_the_schema_has_the_types_that_the_code_appends_and_no_others() -> None:
    found = set()
    for path in (path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")):
        module = ".".join(("benchspec", *path.relative_to(PACKAGE).with_suffix("").parts))
        found |= set(appended(path.read_text(encoding="utf-8"), module))
    assert found == TYPES
    assert list(
        appended(
            "self._journal.append('new')\nj.append(FINISHED if x else 'b', 1)\nrows.append('c')",
            trial.__name__,
        )
    ) == [
        "new",
        "trial.finished",
        "b",
    ]


def test_every_type_has_a_schema_of_its_own_for_its_data() -> None:
    branches: Any = CHECKS["journal"].document["allOf"]
    given = {
        branch["if"]["properties"]["type"]["const"]: branch["then"]["properties"]["data"]["$ref"]
        for branch in branches
    }
    assert given == {type_: f"#/$defs/{type_}" for type_ in TYPES}
    record = {"sum": "0" * 16, "n": 1, "v": 1, "at": 0.0, "mono": 0.0, "boot": "unknown"}
    for type_ in TYPES:
        assert not CHECKS["journal"].accepts({**record, "type": type_, "data": {"unknown": 1}})
        for example in part("journal", "$defs", type_)["examples"]:
            assert CHECKS["journal"].accepts({**record, "type": type_, "data": example})
    assert not CHECKS["journal"].accepts({**record, "type": "new", "data": {}})


DATACLASSES: list[tuple[str, tuple[str, ...], type]] = [
    ("journal", ("$defs", "trial.started"), outcome.Intent),
    ("journal", ("$defs", "trial.finished"), Trial),
    ("journal", ("$defs", "facts"), FactSet),
    ("journal", ("$defs", "claim"), ClaimCheck),
    ("journal", ("$defs", "experiment.commands"), UsedCommands),
    ("journal", ("$defs", "finding"), Finding),
    ("journal", ("$defs", "plan.extended"), history.Extension),
    ("journal", ("$defs", "lifecycle.started"), standing.Bringing),
    ("journal", ("$defs", "step.started"), standing.StepIntent),
    ("journal", ("$defs", "step.finished"), standing.StepResult),
    ("trial", ("$defs", "intent"), outcome.Intent),
    ("plan", (), Plan),
]


@pytest.mark.parametrize(
    ("name", "path", "cls"),
    DATACLASSES,
    ids=[f"{name}-{cls.__name__}" for name, _, cls in DATACLASSES],
)
def test_stored_dataclasses_have_the_fields_of_their_schema(
    name: str, path: tuple[str, ...], cls: type
) -> None:
    assert list(differences(CHECKS[name].document, part(name, *path), cls, cls.__name__)) == []


def differences(root: Mapping[str, Any], found: Any, kind: Any, where: str) -> Iterator[str]:
    """Where the schema ``found`` does not say what :func:`benchspec.engine.model.codec.encode`
    makes of a ``kind``.
    """
    found = followed(root, found)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        yield from of_dataclass(root, found, typing.cast(type, kind), where)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield from [] if set(found["enum"]) == {member.value for member in kind} else [where]
    elif origin in (typing.Union, types.UnionType):
        (inner,) = (argument for argument in arguments if argument is not type(None))
        yield from differences(root, found, inner, where)
    elif origin is tuple:
        yield from [] if found.get("type") == "array" else [where]
        yield from differences(root, found["items"], arguments[0], f"{where}[]")
    elif origin is not None:
        yield from [] if found.get("type") == "object" else [where]
        yield from differences(root, found["additionalProperties"], arguments[1], f"{where}.NAME")
    elif not is_scalar(found, kind):
        yield where


def of_dataclass(
    root: Mapping[str, Any], found: Mapping[str, Any], cls: Any, where: str
) -> Iterator[str]:
    """The codec leaves out what has its default, so a field is required when it has none, and then
    alone may it be null.
    """
    hints = typing.get_type_hints(cls)
    needed = {
        f.name
        for f in dataclasses.fields(cls)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }
    required = set(found.get("required", ()))
    if found["properties"].keys() != hints.keys() or required != needed:
        yield (
            f"{where}: {sorted(found['properties'].keys() ^ hints.keys())}"
            f" {sorted(required ^ needed)}"
        )
        return
    for name, kind in hints.items():
        may_be_null = name in needed and type(None) in typing.get_args(kind)
        if SchemaCheck({"$defs": root["$defs"], **found["properties"][name]}).accepts(None) is not (
            may_be_null or kind is object
        ):
            yield f"{where}.{name}: null"
        yield from differences(root, found["properties"][name], kind, f"{where}.{name}")


def is_scalar(found: Mapping[str, Any], kind: type) -> bool:
    """Whether ``found`` is the schema of a text, number or boolean; of any value for ``object``."""
    if kind is object:
        return not found.keys() & {"type", "enum", "const"}
    said = found.get(
        "type",
        "string" if all(isinstance(value, str) for value in found.get("enum", [None])) else None,
    )
    names: Sequence[str] = said if isinstance(said, list) else [str(said)]
    return {str: "string", int: "integer", float: "number", bool: "boolean"}[kind] in names


def test_constants_of_the_code_are_those_of_the_schemas() -> None:
    kinds = {*trial._KINDS.values(), trial._kind(BenchspecError("x"))}
    assert set(part("trial", "properties", "error_kind")["enum"]) == kinds | {None}
    assert set(
        part("journal", "$defs", "trial.finished", "properties", "error_kind")["enum"]
    ) == kinds | {"allocation", "exit", "killed"}
    assert set(part("journal", "$defs", "step.started", "properties", "phase")["enum"]) == {
        phase.value for phase in Phase
    }
    assert part("journal", "properties", "v")["const"] == FORMAT_VERSION
    assert part("manifest", "properties", "format")["const"] == FORMAT


def test_the_example_records_carry_their_own_sum() -> None:
    for example in part("journal")["examples"]:
        line = json.dumps(example, separators=(",", ":"), ensure_ascii=False).encode()
        assert parse_line(line, where="example").data == example["data"]
