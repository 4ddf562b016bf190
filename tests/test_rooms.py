"""Every module has a test beside its mirror, or is named in covered_by.txt with the test that
covers it. That list only shrinks: a line goes as soon as its module or its test goes, or the module
gets a test of its own.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from benchspec.api import HOMES
from benchspec.cli.app import VERBS, module_of

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("api", "cli", "engine", "reports", "runners", "workloads")
LIST = Path(__file__).with_name("covered_by.txt")
MODULES = tuple(
    sorted(
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if path.name != "__init__.py"
    )
)
_IMPORT = re.compile(
    r"^ *(?:import (?P<module>[\w.]+)|from (?P<dots>\.*)(?P<origin>[\w.]*) import"
    r" (?P<names>\([^)]*\)|.+))",
    re.MULTILINE,
)
_PUBLIC = re.compile(r"^(?:(?:class|def) )?(?P<name>[^\W_]\w*)(?:\[|\(|:| =)", re.MULTILINE)
COVERED = tuple(
    tuple(line.split()) for line in LIST.read_text("utf-8").splitlines() if not line.startswith("#")
)


def own_tests(module: str) -> list[Path]:
    """The tests beside the mirror of ``module``: of its name; for a tool's, those in its folder."""
    path = Path(module)
    folder = ROOT / "tests" / path.parent
    is_of_a_tool = path.parts[0] == "workloads" and len(path.parts) > 2
    return sorted(folder.glob("test_*.py" if is_of_a_tool else f"test_{path.stem}.py"))


@functools.cache
def text(path: Path) -> str:
    return path.read_text("utf-8")


@functools.cache
def words(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w[\w-]*", text(path)))


def dotted(module: str) -> str:
    """``engine/model/units.py`` as it is imported; a package's own files are the package."""
    name = re.sub(r"(/__init__|/__main__)?\.py$", "", module)
    return f"benchspec.{name.replace('/', '.')}"


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """What a file imports anywhere in it: modules, and all names that may be modules."""
    found = set[str]()
    package = path.relative_to(ROOT).parent.parts
    if package[0] in ROOMS:
        package = ("benchspec", *package)
    for match in _IMPORT.finditer(text(path)):
        if match["module"]:
            found.add(match["module"])
            continue
        above = package[: len(package) - len(match["dots"]) + 1] if match["dots"] else ()
        origin = ".".join((*above, *filter(None, [match["origin"]])))
        found |= {origin, *(f"{origin}.{name}" for name in re.findall(r"\w+", match["names"]))}
    return frozenset(found)


@functools.cache
def users() -> dict[str, set[str]]:
    """The modules that import a module, by its dotted name."""
    found: dict[str, set[str]] = {dotted(module): set() for module in MODULES}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            for name in imports(path) & found.keys():
                found[name].add(dotted(str(path.relative_to(ROOT))))
    return found


@functools.cache
def with_helpers(test: Path) -> tuple[Path, ...]:
    """A test file and everything of tests/ that it imports, also by way of others."""
    found = [test]
    for path in found:
        others = (
            ROOT / f"{name.replace('.', '/')}.py"
            for name in imports(path)
            if name.startswith("tests.")
        )
        found += {other for other in others if other not in found and other.is_file()}
    return tuple(found)


@functools.cache
def calls(path: Path) -> frozenset[str]:
    """The modules of what a test calls as ``benchspec.NAME``, of verbs that begin a text in it, and
    of programs that it starts with ``-m``.
    """
    uses = re.findall(r"\bbenchspec\.(\w+)", text(path))
    verbs = re.findall(r"""["']([a-z-]+)["' ]""", text(path))
    return frozenset(
        {f"benchspec.api.{HOMES[name]}" for name in uses if name in HOMES}
        | {module_of(verb) for verb in verbs if verb in VERBS}
        | {*re.findall(r'"-m", "(benchspec[\w.]*)"', text(path))}
    )


def is_reached(module: str, test: Path) -> bool:
    """Whether a test or a helper of it imports or calls the module, what uses it or what uses that;
    or the test names the module or a public name of it.
    """
    near = {dotted(module)}
    for _ in range(2):
        near |= {user for name in near for user in users().get(name, ())}
    names = {Path(module).stem, *(match["name"] for match in _PUBLIC.finditer(text(ROOT / module)))}
    return bool(names & words(test)) or any(
        near & (imports(path) | calls(path)) for path in with_helpers(test)
    )


def problem(module: str, test: str) -> str | None:
    """What is not so of a line of the list."""
    if module not in MODULES:
        return "there is no such module: remove its line"
    if own := own_tests(module):
        return f"{own[0].name} is its own test: remove its line"
    if not Path(test).name.startswith("test_") or not (ROOT / test).is_file():
        return f"there is no test {test}: name the one that covers the module"
    if not is_reached(module, ROOT / test):
        return f"{test} neither imports nor names it, nor imports what uses it"
    return None


def test_every_module_has_a_test_or_is_named_with_the_one_that_covers_it() -> None:
    covered = {module for module, _ in COVERED}
    missing = [module for module in MODULES if not own_tests(module) and module not in covered]
    assert not missing, f"write a test beside the mirror of each of: {', '.join(missing)}"


def test_every_line_of_the_list_is_true() -> None:
    wrong = [f"{module}: {said}" for module, test in COVERED if (said := problem(module, test))]
    assert not wrong, "\n".join(wrong)


def test_the_list_is_sorted_and_names_each_module_once() -> None:
    assert [module for module, _ in COVERED] == sorted({module for module, _ in COVERED})
