"""``benchspec check-docs``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from .app import VERBS
from .options import SPEC_FILE
from .terminal import echo


@click.command("check-docs", short_help=VERBS["check-docs"])
@click.argument("pages", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--spec", type=SPEC_FILE, help="The spec the pages were made from: a page made from another version of it is stale.")
@click.option("--max-age", type=click.IntRange(min=1), metavar="DAYS", help="A page whose data are older than this is stale.")
def command(pages: tuple[Path, ...], spec: Path | None, max_age: int | None) -> None:
    """Check generated regions in PAGES: edited by hand, made from another spec, or too old. Exit code 9 if one is stale."""
    import hashlib

    from ..engine.errors import IntegrityError, UsageError
    from ..reports.docs_pages import check_page

    try:
        sha256 = hashlib.sha256(spec.read_bytes()).hexdigest() if spec is not None else None
        texts = {page: page.read_text(encoding="utf-8") for page in pages}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read: {error}") from error
    today = datetime.now(UTC).date()
    stale = [(page, found) for page, text in texts.items() for found in check_page(text, spec_sha256=sha256, today=today, max_age_days=max_age)]
    for page, found in stale:
        echo(f"{page}:{found.line}: region {found.region} {found.reason}")
    if stale:
        raise IntegrityError(f"{len(stale)} stale regions", remedy="render them again with `benchspec report RUN --docs FOLDER`")
