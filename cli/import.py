"""``benchspec import``."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import DIRECTORY
from .terminal import echo

if TYPE_CHECKING:
    from ..engine.execute.imported import Result

FORMS = ("knb", "kubestr")


@click.command("import", short_help=VERBS["import"])
@click.argument("form", metavar="TOOL", type=click.Choice(FORMS))
@click.argument("files", nargs=-1, required=True, metavar="TARGET=FILE...")
@click.option("--name", help="What the benchmark is called.  [default: imported-TOOL]")
@click.option("--out", type=DIRECTORY, help="The run directory to make.  [default: runs/NAME-TIME]")
def command(form: str, files: tuple[str, ...], name: str | None, out: Path | None) -> None:
    """Make a run directory of results that TOOL (knb or kubestr) measured, for `report` and `compare`.

    The first TARGET is the baseline. Several files of one target are its sessions: there is no verdict with fewer than five of each. Pages say that
    the figures are imported. A test that failed is a failed trial; a file that is broken, or given twice,
    is refused.
    """
    from ..engine.execute.imported import describe, read_result, to_document, write_records
    from .options import load_and_plan
    from .run import create_directory

    results = [read_result(form, target, path.name, path.read_bytes()) for target, path in map(_split, files)]
    document = to_document(form, name or f"imported-{form}", results)
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "imported.yaml")  # the name may not be one yet
        spec.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")  # JSON is YAML
        loaded, plan = load_and_plan(spec, (), None, (), 1000)
        directory = create_directory(loaded, plan, out, imported=describe(form, results))
    write_records(directory, loaded.spec, plan, results)
    _tell(results)
    echo(str(directory.path))


def _split(argument: str) -> tuple[str, Path]:
    from ..engine.errors import UsageError

    target, equals, path = argument.partition("=")
    if not equals or not target or not Path(path).is_file():
        raise UsageError(f"found {argument!r}, expected TARGET=FILE with a file that is there", remedy="write it as aks=aks.json")
    return target, Path(path)


def _tell(results: list[Result]) -> None:
    for result in results:
        for piece in result.pieces:
            if piece.error:
                echo(f"{result.name}: {piece.error}", err=True)
