"""tests/setup installs every program that the test bed calls."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests import programs

ROOT = Path(__file__).resolve().parents[1]
SETUP = ROOT / "tests" / "setup"
NOT_DEBIANS: Mapping[str, str] = {
    "go": (
        "Debian's is too old for Kubernetes; without it the clusters' programs come ready"
        " (BENCHSPEC_CLUSTER_BIN)"
    ),
    "kubectl": "built for the test clusters (tests/cluster/binaries.py)",
    "helm": "built for the test clusters (tests/cluster/helm.py)",
    "fortio": "built for the test clusters (tests/cluster/binaries.py)",
    "k6": "built for its own tests (tests/cluster/binaries.py)",
    "debootstrap": "tests/cluster/containerfile.py says that it wants it, and what for",
}
"""What comes from elsewhere, with where."""

SOURCES: tuple[tuple[str, Callable[[str], frozenset[str]]], ...] = (
    ("specs/testbed/*.yaml", programs.of_spec),
    ("specs/**/*.sh", programs.of_script),
    ("tests/**/*.sh", programs.of_script),
    ("benchmarks/**/*.sh", programs.of_script),
    ("tests/**/*.py", programs.of_module),
)


@dataclass(frozen=True)
class Package:
    """A package that dpkg has installed."""

    required: bool
    needs: tuple[str, ...]


def listed() -> frozenset[str]:
    found = re.search(r'^PACKAGES="([^"]*)"', SETUP.read_text(), re.M)
    assert found is not None
    return frozenset(found[1].split())


@cache
def installed() -> Mapping[str, Package]:
    shown = (
        "${Package}\t${db:Status-Status}\t${Priority}\t${Essential}\t${Pre-Depends},"
        " ${Depends}\t${Provides}\n"
    )
    said = subprocess.run(
        ["dpkg-query", "--show", f"--showformat={shown}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found: dict[str, Package] = {}
    for name, status, priority, essential, needs, provides in (
        line.split("\t") for line in said.splitlines()
    ):
        if status == "installed":
            package = Package(
                required="yes" in essential or priority == "required", needs=tuple(_firsts(needs))
            )
            found[name] = package
            for virtual in _firsts(provides):
                found.setdefault(virtual, Package(required=package.required, needs=(name,)))
    return found


def _firsts(relation: str) -> Iterable[str]:
    """The first alternative of each relation, without version and architecture: what apt installs
    where nothing is there yet.
    """
    return filter(
        None, (re.split(r"[ (:|]", part.strip(), maxsplit=1)[0] for part in relation.split(","))
    )


def there_after(packages: Iterable[str]) -> frozenset[str]:
    """What a minimal Debian has once these are installed: them, what they depend on, and what every
    Debian has.
    """
    known, seen = installed(), set[str]()
    left = [*packages, *(name for name, package in known.items() if package.required)]
    while left:
        if (name := left.pop()) in known and name not in seen:
            seen.add(name)
            left += known[name].needs
    return frozenset(seen)


@cache
def package_of(program: str) -> str | None:
    """The package that has the program on this machine, also by way of Debian's alternatives."""
    folders = (
        ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
        if "/" not in program
        else (str(Path(program).parent), str(Path(program).parent)[4:] or "/")
    )
    paths = [Path(folder) / Path(program).name for folder in folders]
    meant = [path.resolve() for path in paths if path.exists()]
    asked = [
        str(path)
        for path in (*paths, *meant, *(Path(str(path).removeprefix("/usr")) for path in meant))
    ]
    said = subprocess.run(
        ["dpkg-query", "--search", *asked], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"^(?!diversion)([a-z0-9.+-]+)[:,]", said, re.M)
    return found[1] if found is not None else None


def lacking(called: Iterable[str], packages: Iterable[str]) -> dict[str, str | None]:
    """The programs that are not there after these packages, with the packages that have them on
    this machine.
    """
    there = there_after(packages)
    return {
        name: package_of(name)
        for name in sorted(called)
        if name not in NOT_DEBIANS and package_of(name) not in there
    }


@pytest.fixture(autouse=True)
def _debian_with_everything() -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("needs Debian's dpkg")
    if absent := sorted(listed() - installed().keys()):
        pytest.skip(f"needs {', '.join(absent)}: run tests/setup")


@pytest.mark.parametrize(
    ("pattern", "programs_of"), SOURCES, ids=[pattern for pattern, _ in SOURCES]
)
def test_every_program_that_is_called_is_installed(
    pattern: str, programs_of: Callable[[str], frozenset[str]]
) -> None:
    called: dict[str, str] = {}
    for path in sorted(ROOT.glob(pattern)):
        called.update({name: str(path.relative_to(ROOT)) for name in programs_of(path.read_text())})
    assert called, f"{pattern} calls nothing: is this the right place?"
    left = {
        f"{name} ({package or 'no package'})": called[name]
        for name, package in lacking(called, listed()).items()
    }
    assert not left, "tests/setup installs no package for these"


@pytest.mark.parametrize(
    ("source", "without", "program"),
    [
        ("specs/testbed/wireguard-key.sh", "wireguard-tools", "wg"),
        ("specs/testbed/wireguard-up.sh", "wireguard-go", "wireguard-go"),
    ],
)
def test_a_package_that_is_left_out_is_named(source: str, without: str, program: str) -> None:
    called = programs.of_script((ROOT / source).read_text())
    assert lacking(called, listed() - {without}) == {program: without}
    assert lacking(called, listed()) == {}


def test_programs_are_found_wherever_a_shell_script_calls_them() -> None:
    script = """#!/bin/sh
    own() { one --flag "$(two | three)"; }
    trap 'four' EXIT; # comment
    if five && ! six; then X=1 seven `eight` <<END
    $(nine) words
END
    else own; exec ten; fi
    sh -c 'eleven; cd /'; "$UNKNOWN" twelve; echo 'thirteen'
    """
    assert programs.of_script(script) == {
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "sh",
    }
    assert lacking({"no-such-program"}, listed()) == {"no-such-program": None}


def test_programs_are_found_in_python_and_in_specs() -> None:
    module = (
        'PROGRAMS = ("a",)\nargv = ["b", "-x"]\nsubprocess.run(argv)\nsubprocess.Popen(("sh", "-c",'
        ' "c | d"))\nshutil.which("e")\n'
    )
    assert programs.of_module(module) == {"a", "b", "sh", "c", "d", "e"}
    spec = (
        "steps:\n- {run: [f, x]}\nworkloads: {with: {run: [sh, g.sh], files: {g.sh: 'h"
        " ${var:x}'}}}\n"
    )
    assert programs.of_spec(spec) == {"f", "sh", "h"}
