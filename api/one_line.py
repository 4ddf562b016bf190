"""Commands compared without a spec: the spec is made of them, and run."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..engine.control.events import Observer
from ..engine.model.errors import StorageError, UsageError
from ..engine.model.spec import Json
from ..engine.model.units import UNITS
from . import measured_program
from .measured_program import OUTPUT, VARIABLE
from .notices import NOTED, WRITTEN, tell
from .planning import plan
from .runs import Finished, run
from .settings import RUNS, File

SESSIONS = 7
"""Two commands then take no longer than hyperfine's ten runs of each: a verdict needs five."""
LONGEST = "1 d"
"""When a command counts as hung."""
_MEASURE = "measure.py"
_METRIC = re.compile(r"(?P<name>[a-z][a-z0-9_.-]*)=/(?P<rest>.+)", re.DOTALL)
_DIRECTIONS = ("higher", "lower", "neither")
_HEAD = """\
# yaml-language-server: $schema=https://benchspec.dev/schemas/benchspec/v1/benchmark.schema.json
# Made by `benchspec bench`; run it again with `benchspec run`. measure.py runs a command with sh
# and writes what it took to measured.json, from which `extract` reads.
"""
_AXIS = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<values>.+)", re.DOTALL)


def _measured(key: str, unit: str, title: str) -> dict[str, Json]:
    return {
        "from": OUTPUT,
        "jsonpath": f"$.{key}",
        "unit": unit,
        "direction": "lower",
        "title": title,
    }


_RULES: Mapping[str, Mapping[str, Json]] = {
    "duration": _measured("time_s", "s", "Time"),
    "cpu_time": {**_measured("cpu_s", "s", "CPU time"), "statistic": "arithmetic mean"},
    "peak_memory": {**_measured("peak_memory_kib", "KiB", "Peak memory"), "optional": True},
}
"""What is measured of every command; a peak that is not known is left out."""


def read_sweep(text: str) -> tuple[str, tuple[str, ...]]:
    """``n=1,2,4`` as an axis and its values. Raises UsageError."""
    found = _AXIS.fullmatch(text)
    values = tuple(dict.fromkeys(found["values"].split(","))) if found else ()
    if found is None or not all(values):
        raise UsageError(
            f"found --sweep {text!r}, expected a name and values",
            remedy="write --sweep n=1,2,4, and {n} in the commands",
        )
    return found["name"], values


def read_metric(text: str) -> tuple[str, Mapping[str, Json]]:
    """``name=/regex/unit`` or ``name=/regex/unit/direction`` as a rule. Raises UsageError."""
    found = _METRIC.fullmatch(text)
    if found is None:
        raise _no_metric(f"--metric {text!r}")
    rest = found["rest"]
    direction = next((each for each in _DIRECTIONS if rest.endswith(f"/{each}")), "neither")
    body = rest.removesuffix(f"/{direction}")
    for slash in re.finditer("/", body):  # the first: the unit of 10 MB/s is not s
        unit = body[slash.end() :]
        if slash.start() and (unit == "1" or unit in UNITS):
            pattern = body[: slash.start()]
            return found["name"], {"regex": pattern, "unit": unit, "direction": direction}
    raise _no_metric(f"no known unit at the end of --metric {text!r}")


def _no_metric(found: str) -> UsageError:
    return UsageError(
        f"found {found}, expected name=/regex/unit",
        remedy="write --metric 'rate=/([0-9.]+) requests/1/s/higher': the group is the figure, the"
        f" unit is 1 or one of {', '.join(UNITS)}, and /higher or /lower says which is better",
    )


def bench(
    *commands: str,
    names: Sequence[str] = (),
    sweep: Mapping[str, Sequence[str]] = MappingProxyType({}),
    metrics: Mapping[str, Mapping[str, Json]] = MappingProxyType({}),
    sessions: int = SESSIONS,
    ignore_failure: bool = False,
    save: File | None = None,
    out: File | None = None,
    runs: File = RUNS,
    observer: Observer | None = None,
) -> Finished:
    """Measure ``commands`` on this host, in sessions and blocks of random order, and compare each
    with the first: the time, the CPU time, the peak memory, and what ``metrics`` find in the
    output. They are executed: calling this is the consent.

    Each is read by ``sh`` in the working directory. ``sweep`` maps a name to values, which stand
    for ``{name}`` in commands; ``metrics`` are rules by name as in a workload's `extract`, the
    first carries the verdict instead of the time; ``names`` are the commands' titles. With
    ``ignore_failure`` a command may end with any exit code, which is then a metric. The spec that
    is made of this goes to ``save``; the run keeps a copy in any case. ``out``, ``runs`` and
    ``observer`` are those of :func:`~benchspec.api.runs.run`.

    Raises:
        UsageError: no command, one twice, or other than one name for each.
        StorageError: ``save`` cannot be written.
        RunFailed, Interrupted, Locked: as :func:`~benchspec.api.runs.run`.
    """
    titles = tuple(names) or commands
    if not commands or len(set(titles)) != len(titles) or len(titles) != len(commands):
        raise UsageError(
            f"found {len(commands)} commands called {', '.join(map(repr, titles)) or 'nothing'},"
            " expected at least one, and each by a name of its own",
            remedy="write benchspec bench 'sort a' 'sort -r a'; --name is given once for each",
        )
    document = make_document(dict(zip(titles, commands, strict=True)), sweep, metrics, sessions)
    if ignore_failure:
        _accept_failure(document)
    text = _HEAD + dump(document)
    with tempfile.TemporaryDirectory(prefix="benchspec-bench-") as folder:
        path = Path(folder) / "bench.yaml" if save is None else Path(save)
        _write(path, text)
        if save is not None:
            tell(observer, WRITTEN, str(path))
        for note in plan(path).plan.notes:
            tell(observer, NOTED, f"with {sessions} sessions: {note}")
        return run(path, out=out, runs=runs, observer=observer, consent=lambda lines: True)


def make_document(
    commands: Mapping[str, str],
    sweep: Mapping[str, Sequence[str]],
    metrics: Mapping[str, Mapping[str, Json]],
    sessions: int,
) -> dict[str, Any]:
    """The spec that measures ``commands``, by their titles; the first is the baseline."""
    targets = {f"command-{number}": title for number, title in enumerate(commands, 1)}
    runs = {name: _argv(commands[title]) for name, title in targets.items()}
    first, *others = runs
    workload: dict[str, Any] = {
        "title": "Command",
        "tool": "command",
        "with": {
            "run": runs[first],
            "files": {_MEASURE: program()},
            "extract": {**metrics, **_RULES},
            "duration": "1 s",
            "timeout": LONGEST,
        },
    }
    if sweep:
        workload["matrix"] = {
            name: [{"name": value, "env": {f"{VARIABLE}{name}": value}} for value in values]
            for name, values in sweep.items()
        }
    if others:
        workload["overrides"] = {name: {"with": {"run": runs[name]}} for name in others}
    document: dict[str, Any] = {
        "apiVersion": "benchspec/v1",
        "kind": "Benchmark",
        "name": "bench",
        "title": _line(" against ".join(reversed(list(commands)))),
        "targets": {
            name: {"title": _line(title), "runner": "local"} for name, title in targets.items()
        },
        "workloads": {"command": workload},
        "method": {"sessions": sessions, "trials": 1, "warmups": 0},
    }
    if others:
        document["compare"] = {"baseline": first}
    return document


def program() -> str:
    """The program that is placed beside each command, as text."""
    here = files(__package__).joinpath(f"{measured_program.__name__.rpartition('.')[2]}.py")
    return here.read_text(encoding="utf-8").replace("${", "$${")


def dump(document: Mapping[str, Any]) -> str:
    """``document`` as YAML, texts of several lines as blocks, keys in their order."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        style = "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, write_text)
    text: str = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def _argv(command: str) -> list[str]:
    escaped = [word.replace("${", "$${") for word in (os.getcwd(), command)]
    return ["python3", "-I", "-S", _MEASURE, *escaped]


def _accept_failure(document: dict[str, Any]) -> None:
    parameters = document["workloads"]["command"]["with"]
    parameters["exit_codes"] = list(range(256))
    parameters["extract"]["exit_code"] = {
        **_measured("exit_code", "1", "Exit code"),
        "statistic": "arithmetic mean",
        "direction": "neither",
    }


def _line(text: str) -> str:
    """A title: one line, not too long, without references."""
    flat = " ".join(text.split())
    return (flat if len(flat) <= 100 else flat[:97] + "...").replace("${", "$${")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"cannot write the spec: {error.strerror}",
            where=str(path),
            remedy="name another file with --save",
        ) from error
