"""What each exit code of the program means. They are stable: scripts and CI may rely on them. The
errors are in :mod:`benchspec.engine.model.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitCode:
    """One exit code: a few words, and what to do when it is met."""

    title: str
    explanation: str


EXIT_CODES: Mapping[int, ExitCode] = {
    0: ExitCode(
        title="ok",
        explanation="The command did what it says. Warnings may have been printed.",
    ),
    1: ExitCode(
        title="a bug in benchspec",
        explanation="A traceback was printed. Please report it together with the spec.",
    ),
    2: ExitCode(
        title="spec or usage",
        explanation=(
            "The spec is not valid, or the command line cannot be carried out. Nothing was created."
            " The message names the place and what was expected."
        ),
    ),
    3: ExitCode(
        title="gate failed",
        explanation=(
            "The run finished, but every trial of some experiment failed its validity gates. The"
            " trials are kept and listed on the page."
        ),
    ),
    4: ExitCode(
        title="run failed",
        explanation=(
            "The run or one of its operations failed: a missing tool, an output without a"
            " measurement, a timeout, a lost connection, a full disk, or a plan that a runner"
            " cannot carry out. What was measured before is kept."
        ),
    ),
    5: ExitCode(
        title="drift",
        explanation=(
            "An observed fact contradicts what the spec declares. Correct the spec or the target,"
            " or measure all the same with --allow-drift. Also when roles are not on nodes as"
            " `placement` wants them, which nothing allows."
        ),
    ),
    6: ExitCode(
        title="locked",
        explanation=(
            "Another benchspec process holds the run directory, or a node that this run needs for"
            " itself. Wait for it to end, or stop it."
        ),
    ),
    7: ExitCode(
        title="not comparable",
        explanation=(
            "Results differ in a fact that must match, or two runs had a node at the same time, so"
            " no comparison is made."
        ),
    ),
    8: ExitCode(
        title="inconclusive",
        explanation=(
            "No verdict could be established, and the caller asked to be told so by the exit code."
        ),
    ),
    9: ExitCode(
        title="integrity",
        explanation=(
            "A stored byte is not what was written: a corrupt journal, a raw file whose sha256"
            " differs, or a generated region of a page that was edited or is stale. Restore the"
            " file from a copy, or render the page again."
        ),
    ),
    10: ExitCode(
        title="incomplete",
        explanation=(
            "The run finished and every experiment has a valid trial, but planned trials gave no"
            " result; the message says how many of how many. `benchspec resume` measures again what"
            " failed for a reason from outside."
        ),
    ),
    129: ExitCode(
        title="interrupted by SIGHUP",
        explanation=(
            "The terminal went away. The run stopped, cleaned up and can go on with `benchspec"
            " resume`."
        ),
    ),
    130: ExitCode(
        title="interrupted by SIGINT",
        explanation="The run stopped, cleaned up and can go on with `benchspec resume`.",
    ),
    143: ExitCode(
        title="interrupted by SIGTERM",
        explanation="The run stopped, cleaned up and can go on with `benchspec resume`.",
    ),
}
"""Exit code to its meaning, in order."""
