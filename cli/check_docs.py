"""``benchspec check-docs``."""

from __future__ import annotations

from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE
from .output.terminal import echo

PAGE = click.Path(path_type=Path, dir_okay=False, exists=True)
SPEC = "The spec the pages were made from: a page made from another version of it is stale."
AGE = "A page whose data are older than this is stale."


@click.command("check-docs", short_help=VERBS["check-docs"])
@click.argument("pages", nargs=-1, required=True, type=PAGE)
@click.option("--spec", type=SPEC_FILE, help=SPEC)
@click.option("--max-age", type=click.IntRange(min=1), metavar="DAYS", help=AGE)
def command(pages: tuple[Path, ...], spec: Path | None, max_age: int | None) -> None:
    """Check generated regions in PAGES: edited by hand, made from another spec, or too old. Exit
    code 9 if one is stale.
    """
    from ..api.page_regions import check_docs
    from ..engine.model.errors import IntegrityError

    checked = check_docs(*pages, spec=spec, max_age_days=max_age)
    stale = [(page, found) for page, regions in checked.items() for found in regions]
    for page, found in stale:
        echo(f"{page}:{found.line}: region {found.region} {found.reason}")
    if stale:
        raise IntegrityError(
            f"{len(stale)} stale regions",
            remedy="render them again with `benchspec report RUN --docs FOLDER`",
        )
