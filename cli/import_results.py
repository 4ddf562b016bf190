"""``benchspec import``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import DIRECTORY, target_and_file
from .output.terminal import echo

_SPEC = "A spec whose titles, claims, limits, prices and comparisons the run gets."
_SESSIONS = "What a session is: file, name=REGEX (a group of the file's name), gap=DURATION."
_SKIP = "Leave out files that cannot be read, and name them in the run."


@click.command("import", short_help=VERBS["import"])
@click.argument("form", metavar="TOOL")
@click.argument("files", nargs=-1, required=True, metavar="TARGET=FILE...")
@click.option("--name", help="What the benchmark is called.  [default: imported-TOOL]")
@click.option("--out", type=DIRECTORY, help="The run directory to make.  [default: runs/NAME-TIME]")
@click.option("--spec", type=click.Path(path_type=Path), help=_SPEC)
@click.option("--sessions", default="file", show_default=True, metavar="RULE", help=_SESSIONS)
@click.option("--skip-bad", is_flag=True, help=_SKIP)
def command(
    form: str,
    files: tuple[str, ...],
    name: str | None,
    out: Path | None,
    spec: Path | None,
    sessions: str,
    skip_bad: bool,
) -> None:
    """Make a run directory of results that TOOL measured elsewhere, for `report` and `compare`.

    TOOL is fio, kubestr, iperf3, knb, netperf, fortio, vault-benchmark, diskspd, sysbench, openssl,
    sockperf, stress-ng, hyperfine, wrk, k6, vegeta, pgbench, redis-benchmark, or csv: figures of a
    table (docs/importing.md). FILE may be a pattern such as 'aks/*.json'.

    The first TARGET is the baseline. Each file is a session of its target unless --sessions says
    otherwise: there is no verdict with fewer than five of each. Results that the tool's own gates
    refuse are invalid trials. A file that is broken, or given twice, is refused.
    """
    from ..api.importing import FORMS, import_
    from ..engine.model.errors import UsageError

    if form not in FORMS:
        raise UsageError(f"found the tool {form!r}, expected one of {', '.join(FORMS)}")
    given = map(target_and_file, files)
    imported = import_(
        form, given, name=name, out=out, spec=spec, sessions=sessions, skip_bad=skip_bad
    )
    for file, reason in imported.failures:
        echo(f"{file}: {reason}", err=True)
    if imported.unindexed:
        echo(imported.unindexed, err=True)
    echo(imported.directory)
