"""The table of finding codes and the code agree: every code that is emitted is explained, and
nothing else is.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from benchspec.engine.model import errors
from benchspec.engine.model.exit_codes import EXIT_CODES
from benchspec.engine.model.findings import CODES

PACKAGE = Path(str(files("benchspec")))
ROOMS = ("cli", "engine", "reports", "runners", "workloads")
TABLE = PACKAGE / "engine" / "model" / "findings.py"


def emitted() -> dict[str, set[str]]:
    """Every code in a string of the program, with the modules it stands in."""
    found: dict[str, set[str]] = {}
    for module in (
        path for room in ROOMS for path in (PACKAGE / room).rglob("*.py") if path != TABLE
    ):
        for code in re.findall(r'"(F\d{3})"', module.read_text(encoding="utf-8")):
            found.setdefault(code, set()).add(str(module.relative_to(PACKAGE)))
    return found


def test_the_search_sees_codes_in_every_form() -> None:
    assert {"F101", "F401", "F501", "F610"} <= emitted().keys()


def test_every_emitted_code_is_explained() -> None:
    assert not {code: where for code, where in emitted().items() if code not in CODES}


def test_every_explained_code_is_emitted() -> None:
    assert not CODES.keys() - emitted().keys()


def is_doctor(module: str) -> bool:
    """Whether the module looks before a run at what a run may tell too."""
    return module == "api/examination.py" or module.endswith("/doctor.py")


def test_no_code_is_emitted_by_two_modules_of_a_run() -> None:
    """A code has one meaning; the same number in unrelated modules would be two. The doctors of all
    runners say the same of their nodes.
    """
    reads = "engine/store/read_run.py"  # which leaves out what was put right later
    by_runs = {
        code: {module for module in where if not is_doctor(module) and module != reads}
        for code, where in emitted().items()
    }
    assert not {code: where for code, where in by_runs.items() if len(where) > 1}
    assert any(is_doctor(module) for where in emitted().values() for module in where)


def test_texts_are_sentences() -> None:
    for code, found in CODES.items():
        assert found.title, code
        assert not found.title.endswith("."), code
        assert found.explanation.endswith("."), code
    assert list(CODES) == sorted(CODES)


def all_errors(
    cls: type[errors.BenchspecError] = errors.BenchspecError,
) -> set[type[errors.BenchspecError]]:
    return {cls}.union(*(all_errors(below) for below in cls.__subclasses__()))


def test_every_exit_code_of_an_error_is_explained_and_the_other_way_round() -> None:
    raised = {cls.exit_code for cls in all_errors()}
    assert raised <= EXIT_CODES.keys()
    assert EXIT_CODES.keys() - raised == {0, 129, 143}
    assert errors.Interrupted("x", signal_number=15).exit_code == 143
