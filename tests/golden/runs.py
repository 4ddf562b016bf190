"""The golden runs: specs that are really run on this machine, and everything that can be seen of
each.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .program import benchspec_in
from .replacements import Replacer

SPECS = Path(__file__).parents[1] / "data" / "golden" / "specs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Commands in one folder with the specs, and the run directories of which the files are kept;
    ``measured`` metrics are measured for real.
    """

    commands: Sequence[str]
    runs: Sequence[str] = ("run",)
    measured: Sequence[str] = ("duration",)
    exports: bool = False
    """Whether every format is rendered, beyond the page that the run itself writes."""
    breaks: Callable[[Path], None] | None = None
    """Done to the folder before the last command."""


def flip(file: str) -> Callable[[Path], None]:
    """Flips a bit of one stored byte."""

    def breaks(folder: Path) -> None:
        (path,) = folder.glob(file)
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])

    return breaks


RUN = "run {}.yaml --yes --out run"

CASES: Mapping[str, Case] = {
    "verdicts": Case(
        commands=[
            f"{RUN.format('verdicts')} --json-lines",
            "compare run --baseline alike",
            "compare run --baseline alike --json",
        ],
        exports=True,
    ),
    "lifecycle": Case(
        commands=[RUN.format("lifecycle"), "resume run --yes", "clean run", "clean run --json"],
        exports=True,
    ),
    "tools": Case(commands=[f"{RUN.format('tools')} --quiet"], measured=("*",)),
    "exit-42": Case(commands=[RUN.format("exit-42")]),
    "no-figure": Case(commands=[RUN.format("no-figure")]),
    "timeout": Case(commands=[f"{RUN.format('timeout')} --json-lines"]),
    "gate": Case(commands=[RUN.format("gate")]),
    "drift": Case(
        commands=[RUN.format("drift"), "run drift.yaml --yes --allow-drift --quiet --out allowed"],
        runs=("run", "allowed"),
    ),
    "no-tool": Case(commands=[RUN.format("no-tool")]),
    "step-fails": Case(commands=[f"{RUN.format('step-fails')} --json-lines"]),
    "standing": Case(
        commands=[
            "up standing.yaml --yes --out stands --json-lines",
            f"{RUN.format('standing')} --up stands --quiet",
            "resume stands --yes",
            "down stands --yes",
            "down stands --yes --json",
        ],
        runs=("stands", "run"),
    ),
    "comparisons": Case(
        commands=[
            "run constant.yaml --yes --quiet --out before",
            "run constant-more.yaml --yes --quiet --out after",
            "compare before after",
            "compare before after --require-verdict",
            "compare before after --json",
        ],
        runs=(),
    ),
    "flipped-byte": Case(
        commands=["run constant.yaml --yes --quiet --out run", "report run"],
        runs=(),
        breaks=flip("run/raw/000001/0-stdout"),
    ),
    "flipped-journal": Case(
        commands=["run constant.yaml --yes --quiet --out run", "resume run"],
        runs=(),
        breaks=flip("run/journal.ndjson"),
    ),
    "refusals": Case(
        commands=[
            "run refused.yaml --yes",
            "run invalid.yaml --yes",
            "run gate-refused.yaml --yes",
            "run constant.yaml",
            "run constant.yaml --yes --set method.sessions=many",
            "run constant.yaml --yes --only target=there",
            "run constant.yaml --yes --max-experiments 0",
            "run no-such-file.yaml",
            "resume scripts",
            "report scripts",
            "down constant.yaml",
            "clean",
            "clean --all",
            "valdate constant.yaml",
            "validate refused.yaml invalid.yaml gate-refused.yaml constant.yaml",
            "validate invalid.yaml --format json",
        ],
        runs=(),
    ),
}
"""Every golden run by its name."""


def observe_case(case: Case, folder: Path) -> dict[str, bytes]:
    """Carry out a case in the new folder ``folder``: every golden file by its name, everything
    replaced that differs from run to run.
    """
    shutil.copytree(SPECS, folder)
    replacer = Replacer(folder, case.measured)
    found = {}
    for number, line in enumerate(case.commands, 1):
        if case.breaks is not None and number == len(case.commands):
            case.breaks(folder)
        done = benchspec_in(folder, *line.split())
        found[f"{number}-{line.split()[0]}.txt"] = done.transcript(replacer.printed).encode()
    for run in case.runs:
        found |= {
            f"{run}/{name}": data for name, data in _files(folder, run, replacer, case).items()
        }
    return found


def _files(folder: Path, run: str, replacer: Replacer, case: Case) -> dict[str, bytes]:
    """What a run directory holds and what is rendered of it, but for pages of values that are
    measured for real: every sentence differs.
    """
    path = folder / run
    names = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
    found = {"files.txt": replacer.text("\n".join(names) + "\n").encode()}
    found["manifest.json"] = replacer.document((path / "manifest.json").read_bytes())
    found["journal.ndjson"] = replacer.journal((path / "journal.ndjson").read_bytes())
    page = path / "report" / "page.md"
    if page.exists() and "*" not in case.measured:
        found["page.md"] = replacer.text(page.read_text("utf-8")).encode()
    if case.exports:
        rendered = render(folder, run)
        found["trials.csv"] = replacer.csv(rendered.pop("trials.csv"))
        found["results.json"] = replacer.document(rendered.pop("results.json"))
        found |= {name: replacer.text(data.decode()).encode() for name, data in rendered.items()}
    return found


FORMATS: Mapping[str, str] = {
    "markdown": "",
    "html": "",
    "json": "results.json",
    "csv": "trials.csv",
    "summary": "summary.md",
}
"""Formats of `report`, and the golden file for what is printed; pages and figures are written."""


def render(folder: Path, run: str, formats: Sequence[str] = tuple(FORMATS)) -> dict[str, bytes]:
    """The pages, figures and exports of a run directory, as `report` makes them."""
    out = folder / f"rendered-{run}"
    found = {}
    for format_ in formats:
        to = () if FORMATS[format_] else ("--out", out.name)
        done = benchspec_in(folder, "report", run, "--format", format_, *to)
        assert done.exit_code == 0, done.transcript()
        if FORMATS[format_]:
            found[FORMATS[format_]] = done.stdout
    return found | {
        str(file.relative_to(out)): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file()
    }
