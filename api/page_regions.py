"""Generated regions of pages in a documentation site: edited by hand, or stale?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from ..engine.model.errors import UsageError
from ..reports.output.docs_pages import Stale, check_page
from .settings import File


def check_docs(
    *pages: File,
    spec: File | None = None,
    max_age_days: int | None = None,
    today: date | None = None,
) -> Mapping[Path, Sequence[Stale]]:
    """What is wrong with the generated regions of each of ``pages``: edited by hand, made from
    another version of ``spec``, or from data older than ``max_age_days`` on ``today`` (UTC).

    Raises:
        UsageError: a file cannot be read.
        SpecError: a marker is alone, or two regions overlap.
    """
    paths = [Path(page) for page in pages]
    try:
        sha256 = None if spec is None else hashlib.sha256(Path(spec).read_bytes()).hexdigest()
        texts = {path: path.read_text(encoding="utf-8") for path in paths}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read: {error}") from error
    day = today or datetime.now(UTC).date()
    return {
        path: tuple(check_page(text, spec_sha256=sha256, today=day, max_age_days=max_age_days))
        for path, text in texts.items()
    }
