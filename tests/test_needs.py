"""Markers come from what a test uses, and the quick loop is what has none."""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import hosts, needs
from tests.cluster import binaries, sharing
from tests.hosts import parts

HERE = Path(__file__).parent


def asks_for_root() -> bool:
    return os.geteuid() == 0


def makes_hosts() -> None:
    hosts.up(1)


@contextmanager
def in_the_block() -> Iterator[object]:
    yield sharing.missing()


@functools.cache
def kept() -> Path:
    return binaries.k6()


class Helper:
    def method(self) -> str | None:
        return parts.missing("tc")


BY_NAME: dict[str, Callable[[], object]] = {
    "here": asks_for_root,
    "there": functools.partial(makes_hosts),
}


def closes_over(function: Callable[[], object]) -> Callable[[], object]:
    return lambda: function()


def uses_a_block() -> None:
    with in_the_block():
        pass


def uses_an_inner_function() -> object:
    def inner() -> object:
        return kept()

    return inner


def uses_a_class() -> object:
    return Helper().method()


def uses_a_table() -> object:
    return BY_NAME


def calls_itself() -> object:
    return calls_itself() or len(os.environ)


@pytest.mark.parametrize(
    ("function", "parameters", "found"),
    [
        (asks_for_root, [], {"root"}),
        (makes_hosts, [], {"root", "hosts"}),
        (uses_a_block, [], {"root", "cluster"}),
        (uses_an_inner_function, [], {"built"}),
        (uses_a_class, [], {"root", "hosts"}),
        (closes_over(makes_hosts), [], {"root", "hosts"}),
        (uses_a_table, [], {"root", "hosts"}),
        (uses_a_table, ["here"], {"root"}),
        (uses_a_table, ["elsewhere"], {"root", "hosts"}),
        (calls_itself, ["here"], set()),
    ],
)
def test_markers_come_from_what_a_function_uses(
    function: Callable[[], object], parameters: list[str], found: set[str]
) -> None:
    assert needs.of_test([function], parameters) == found


@pytest.mark.parametrize("door", needs.DOORS)
def test_every_door_is_there(door: str) -> None:
    module, _, name = door.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    assert f"{function.__module__}.{function.__qualname__}" == door
    assert needs.of_test([function]) >= {needs.DOORS[door]}


SUITE = """
import os
import pytest

def test_quick():
    pass

@pytest.mark.parametrize("word", ["a", "b"])
def test_slow(word):
    pass

@pytest.fixture
def privileged():
    return os.geteuid()

def test_root(privileged):
    pass
"""
CONFTEST = """
from pathlib import Path
import pytest
from tests import needs

needs.SLOW = Path(__file__).with_name("slow.txt")
pytest_addoption, pytest_configure = needs.add_options, needs.configure

@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    needs.decide(config)

@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    needs.tell_worker(node)

def pytest_collection_modifyitems(config, items):
    needs.mark(items)
    needs.choose(config, items)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of four tests: two of a function that is called slow, one for root."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_suite.py").write_text(SUITE)
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    (tmp_path / "tests" / "slow.txt").write_text("tests/test_suite.py::test_slow\n")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tests\naddopts = -p no:cacheprovider --strict-markers\n"
    )
    return tmp_path


def said(suite: Path, *arguments: str, **environment: str) -> str:
    """What pytest says in a process that no worker started."""
    kept = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rp", *arguments],
        cwd=suite,
        env={**kept, "PYTHONPATH": str(HERE.parent), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ran(suite: Path, *arguments: str, **environment: str) -> list[str]:
    """The names of the tests that passed."""
    lines = said(suite, *arguments, **environment).splitlines()
    return sorted(line.partition("::")[2] for line in lines if line.startswith("PASSED "))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["test_quick"]),
        (["-n", "0"], ["test_quick"]),
        (["--everything", "-n", "1"], ["test_quick", "test_root", "test_slow[a]", "test_slow[b]"]),
        (["tests/test_suite.py"], ["test_quick", "test_root", "test_slow[a]", "test_slow[b]"]),
        (
            ["tests/test_suite.py", "-n", "1"],
            ["test_quick", "test_root", "test_slow[a]", "test_slow[b]"],
        ),
        (["-m", "root"], ["test_root"]),
        (["-m", "root", "-n", "1"], ["test_root"]),
        (["-k", "slow"], ["test_slow[a]", "test_slow[b]"]),
    ],
)
def test_without_a_choice_the_quick_ones_run(
    suite: Path, arguments: list[str], names: list[str]
) -> None:
    assert ran(suite, *arguments) == names


def test_the_quick_loop_has_a_worker_per_processor_and_no_worker_has_workers(suite: Path) -> None:
    assert "created: " in said(suite)
    assert "created: " not in said(suite, PYTEST_XDIST_WORKER="gw0")
    chosen = ran(suite, "tests/test_suite.py", PYTEST_XDIST_WORKER="gw0")
    assert len(chosen) == 4


def test_the_list_of_slow_tests_is_written(suite: Path) -> None:
    ran(suite, "--everything", "--write-slow", "0", "-n", "1")
    assert needs.slow_tests((suite / "tests" / "slow.txt").read_text()) == {
        "tests/test_suite.py::test_quick",
        "tests/test_suite.py::test_root",
        "tests/test_suite.py::test_slow",
    }


def report(name: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(
        f"a.py::{name}", ("a.py", 1, name), {}, "passed", None, "call", duration=seconds
    )


def test_parts_and_parameters_of_a_test_count_together(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("def test_that_did_not_run(): ...\n")
    target = tmp_path / "slow.txt"
    target.write_text(
        "a.py::test_mended\nb.py::test_that_did_not_run\nb.py::test_gone\nc.py::test_c\n"
    )
    durations = needs.Durations(1.0, target, tmp_path)
    for name, seconds in (
        ("test_long", 0.6),
        ("test_long", 0.6),
        ("test_many[a::b]", 0.9),
        ("test_many[[c]]", 0.9),
        ("test_mended", 0.9),
    ):
        durations.pytest_runtest_logreport(report(name, seconds))
    durations.pytest_sessionfinish()
    assert needs.slow_tests(target.read_text()) == {
        "a.py::test_long",
        "a.py::test_many",
        "b.py::test_that_did_not_run",
    }
