"""Golden pages of the sample run. ``python -m tests.reports.goldens`` (from the checkout) writes
them anew; read the difference then.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from benchspec.reports.output.docs_pages import render_docs
from benchspec.reports.output.render import render_report, write_report
from tests.reports.sample_run import make_analysis, make_run

DIRECTORY = Path(__file__).parents[1] / "data" / "reports" / "azure"


@cache
def make_goldens() -> Mapping[str, bytes]:
    """The page with its figures, the summary, the JSON and the docs page's text."""
    run = make_run()
    analysis = make_analysis(run)
    files: dict[str, bytes] = {}
    for format_ in ("markdown", "summary", "json", "html"):
        files |= render_report(run, analysis, format_)
    return files | {"azure.md": render_docs(run, analysis, "azure")["azure.md"]}


if __name__ == "__main__":
    write_report(make_goldens(), DIRECTORY)
