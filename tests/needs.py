"""What a test needs beyond Python, seen from what its code uses; and which tests are quick.

A test gets the marker ``root``, ``hosts``, ``cluster`` or ``built`` when its function, one of its
fixtures or a helper that these use calls what asks for root, makes a bed of hosts, starts a cluster
or builds a program from Go. Nobody writes these markers by hand. A test named in ``slow.txt``,
which ``--write-slow`` writes from measured durations, gets ``slow``.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

DOORS = {
    "tests.hosts.parts.missing": "hosts",
    "tests.hosts.bed.up": "hosts",
    "tests.cluster.sharing.missing": "cluster",
    "tests.cluster.cluster.make": "cluster",
    "tests.cluster.binaries.fortio": "built",
    "tests.cluster.binaries.k6": "built",
    "tests.cluster.binaries.directory": "built",
}
"""What a test calls when it needs something, by module and name, and the marker for it."""

MARKERS = {
    "root": "asks for root",
    "hosts": "makes hosts in network namespaces (tests/hosts)",
    "cluster": "runs on a Kubernetes cluster of this machine (tests/cluster)",
    "built": "runs a program that is built from its Go module first",
    "slow": "is named in tests/slow.txt",
}

SLOW = Path(__file__).with_name("slow.txt")
_HEAD = "# Tests that the quick loop leaves out: python -m pytest --everything --write-slow SECONDS"


def of_test(functions: Iterable[object], parameters: Iterable[Hashable] = ()) -> frozenset[str]:
    """The markers, without ``slow``, of a test.

    Args:
        functions: the test's function and those of its fixtures.
        parameters: the values that the test is parametrized with. Of a table that one of them is
            a key of, only that entry counts.
    """
    keys = frozenset(parameters)
    seen: set[object] = set()
    found: set[str] = set()
    waiting = list(functions)
    while waiting:
        function = _plain(waiting.pop())
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        uses = _uses(function)
        found |= uses.markers
        waiting += uses.functions
        for table in uses.tables:
            wanted = keys & table.keys()
            waiting += [table[key] for key in wanted or table]
    return frozenset(found)


class _Uses:
    """What a function refers to: markers of doors, functions of the tests, tables of such."""

    def __init__(self, function: FunctionType) -> None:
        names = set(_names(function.__code__))
        self.markers = {"root"} if "geteuid" in names else set[str]()
        self.functions: list[object] = []
        self.tables: list[Mapping[Hashable, object]] = []
        if (door := f"{function.__module__}.{function.__qualname__}") in DOORS:
            self.markers.add(DOORS[door])
        for value in _values(function, names):
            match value:
                case type():
                    self.functions += vars(value).values()
                case Mapping():
                    self.tables.append(value)
                case tuple() | list():
                    self.functions += value
                case _:
                    self.functions.append(value)
        self.functions = [one for one in self.functions if _is_of_the_tests(one)]
        self.tables = [table for table in self.tables if any(map(_is_of_the_tests, table.values()))]


@functools.cache
def _uses(function: FunctionType) -> _Uses:
    return _Uses(function)


def _names(code: CodeType) -> Iterator[str]:
    """All global and attribute names of a function and of the functions in it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _values(function: FunctionType, names: set[str]) -> Iterator[object]:
    """What these names mean in the function's module, and what the function closes over."""
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            if value.__name__.startswith("tests."):
                yield from (vars(value)[one] for one in names & vars(value).keys())
        else:
            yield value
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _plain(value: object) -> object:
    """The function behind decorators, methods and partials."""
    if isinstance(value, functools.partial):
        return _plain(value.func)
    if isinstance(value, property):
        return value.fget
    value = getattr(value, "__func__", value)
    return inspect.unwrap(value) if callable(value) else value


def _is_of_the_tests(value: object) -> bool:
    """Whether a function or class is one of tests/, so that what it uses counts."""
    module = getattr(_plain(value), "__module__", None)
    return isinstance(module, str) and module.startswith("tests.")


def slow_tests(text: str) -> frozenset[str]:
    """The node ids, without parameters, that the text of ``slow.txt`` names."""
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def without_parameters(nodeid: str) -> str:
    """A test function's node id: ``tests/test_x.py::test_y`` of ``tests/test_x.py::test_y[a]``."""
    return nodeid.partition("[")[0]


class Durations:
    """A plug-in that writes ``slow.txt``. A test that is there and did not run keeps its line."""

    def __init__(self, limit_s: float, target: Path, root: Path) -> None:
        self._limit_s, self._target, self._root = limit_s, target, root
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a test, its set-up or its removal took to its function."""
        name = without_parameters(report.nodeid)
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the names of those that together took longer than the limit."""
        before = slow_tests(self._target.read_text()) if self._target.exists() else frozenset()
        slow = {name for name, seconds in self._seconds.items() if seconds > self._limit_s}
        kept = filter(self._is_there, before - self._seconds.keys())
        lines = [_HEAD, *sorted(slow.union(kept))]
        self._target.write_text("\n".join(lines) + "\n")

    def _is_there(self, name: str) -> bool:
        path, _, function = name.rpartition("::")
        file = self._root / path.partition("::")[0]
        return file.is_file() and f"def {function}(" in file.read_text()


def add_options(parser: pytest.Parser) -> None:
    """The options ``--everything`` and ``--write-slow``."""
    group = parser.getgroup("benchspec")
    group.addoption(
        "--everything",
        action="store_true",
        help="run all tests; without it, and without paths, -m or -k, the quick ones alone run",
    )
    group.addoption(
        "--write-slow",
        type=float,
        metavar="SECONDS",
        help="name test functions that took longer than SECONDS in tests/slow.txt",
    )


def configure(config: pytest.Config) -> None:
    """Register the markers, and the plug-in that measures where it is asked for."""
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    if config.option.write_slow is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(config.option.write_slow, SLOW, config.rootpath))


def decide(config: pytest.Config) -> None:
    """Whether this is the quick loop, which has a worker per processor unless ``-n`` says another
    number. It comes before pytest-xdist looks how many it is to start. A worker is told
    (:func:`tell_worker`), and neither it nor what a test in it starts has workers of its own.
    """
    if hasattr(config, "workerinput"):
        config.option.everything = config.workerinput["everything"]
        return
    option = config.option
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    option.everything = bool(option.everything or named or option.markexpr or option.keyword)
    alone = option.usepdb or option.collectonly or option.tx or "PYTEST_XDIST_WORKER" in os.environ
    if not option.everything and not alone and option.numprocesses is None:
        option.numprocesses, option.dist = "logical", "worksteal"


def tell_worker(node: Any) -> None:
    """What was decided, for the worker that ``node`` starts: it parses the arguments again."""
    node.workerinput["everything"] = node.config.option.everything


def mark(items: list[pytest.Item]) -> None:
    """Give every test its markers."""
    slow = slow_tests(SLOW.read_text())
    for item in items:
        for name in sorted(_of_item(item)):
            item.add_marker(name)
        if without_parameters(item.nodeid) in slow:
            item.add_marker("slow")


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the quick loop, leave out every test with one of the markers."""
    if config.option.everything:
        return
    left = [item for item in items if any(item.get_closest_marker(name) for name in MARKERS)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def _of_item(item: pytest.Item) -> frozenset[str]:
    if not isinstance(item, pytest.Function):
        return frozenset()
    fixtures: Mapping[str, Any] = item._fixtureinfo.name2fixturedefs
    functions = (definition.func for definition in chain.from_iterable(fixtures.values()))
    callspec = getattr(item, "callspec", None)
    parameters = [
        value for value in (callspec.params.values() if callspec else ()) if isinstance(value, str)
    ]
    return of_test([_test_function(item), *functions], parameters)


def _test_function(item: pytest.Function) -> object:
    """The function as it was written, also when Hypothesis calls it."""
    made = getattr(item.function, "hypothesis", None)
    return item.function if made is None else made.inner_test
