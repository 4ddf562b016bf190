"""What `benchspec` offers by name: every verb, documented, and nothing is imported before."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import benchspec
from benchspec import api
from benchspec.cli.app import VERBS
from tests.engine.execution.bench import environment

WITHOUT = {"completion"}
"""Verbs of the command line alone."""

OTHERS = {"import": "import_", "list": "list_"}
"""Functions that cannot have the name of their verb."""


def test_every_verb_is_a_function() -> None:
    names = {OTHERS.get(verb, verb.replace("-", "_")) for verb in VERBS.keys() - WITHOUT}
    assert names <= api.HOMES.keys()
    assert sorted(api.HOMES) == benchspec.__all__
    assert {*benchspec.__all__} <= {*dir(benchspec)} & {*dir(api)}
    with pytest.raises(AttributeError, match="nothing"):
        _ = benchspec.nothing


@pytest.mark.parametrize("name", benchspec.__all__)
def test_every_function_is_typed_and_documented(name: str) -> None:
    function = getattr(benchspec, name)
    assert function is getattr(api, name)
    assert inspect.getdoc(function)
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not p.empty for p in signature.parameters.values())


def test_importing_benchspec_imports_nothing_of_it() -> None:
    code = "import sys, benchspec; print([m for m in sys.modules if m.startswith('benchspec.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout == "[]\n"


def test_the_package_is_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchspec", "--version"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert done.stdout == f"benchspec, version {benchspec.__version__}\n"
