"""A run's report rendered again, offline and to the same bytes, and its page in a documentation
site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..engine.analysis.analyse import analyse
from ..engine.analysis.model import Analysis
from ..engine.model.codec import encode
from ..engine.model.errors import UsageError
from ..engine.model.results import RunData
from ..engine.model.spec import Json
from ..engine.store.directory import RunDirectory
from ..engine.store.read_run import read_run
from ..reports.output.docs_pages import render_docs, update_docs
from ..reports.output.render import render_pages, render_report, write_report
from ..reports.page.answer import Answer
from ..workloads.registry import metrics_of
from .bundles import opened, pages_of
from .settings import File


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The two pages of a run as they were written, and what they answer."""

    page: Path
    html: Path
    answer: Answer

    def to_json(self) -> dict[str, Json]:
        """Pages, rows and sentences as JSON values."""
        return {"page": str(self.page), "html": str(self.html), **encode(self.answer)}


def analyse_run(run: RunData) -> Analysis:
    """Analyse ``run`` with the metrics its workloads declare."""
    return analyse(run, metrics_of(run.experiments))


def render(
    run: File, format: str = "markdown", *, template: File | None = None
) -> Mapping[str, bytes]:
    """The files of a report of ``run``, a directory or a bundle, by name, the main file first.
    Every sum is checked before.

    ``format`` is one of markdown, html, json, csv, summary (short Markdown for a pull request),
    openmetrics, bencher and parquet (which needs pyarrow).
    ``template`` is a Jinja2 template for the Markdown page; None: the spec's own, if it has one.

    Raises:
        UsageError: no run directory, or an unknown format.
        IntegrityError: a stored byte is not what was written.
        SpecError: the template is wrong.
    """
    with opened(run) as path:
        data = read_run(path)
        analysis = analyse_run(data)
        own = RunDirectory.open(path).template if format == "markdown" else None
        return render_report(
            data, analysis, format, template=own if template is None else Path(template)
        )


def report(
    run: File, format: str = "markdown", *, out: File | None = None, template: File | None = None
) -> Path:
    """Write what :func:`render` gives into ``out``, or ``run``/report (NAME-report beside a
    bundle); return the main file. Raises as :func:`render`, and StorageError.
    """
    files = render(run, format, template=template)
    target = pages_of(run) if out is None else Path(out)
    write_report(files, target)
    return target / next(iter(files))


def publish(run: File, docs: File | None = None) -> Path:
    """Write the page NAME.md into ``docs``, a folder of a documentation site, or refresh its region
    there; None: the folder that the spec's ``report.docs`` names. Return the page.

    Raises:
        UsageError: no run directory, or no folder is named.
        IntegrityError: a stored byte is not what was written.
        StorageError: it cannot be written.
    """
    with opened(run) as path:
        data = read_run(path)
    analysis = analyse_run(data)
    folder = _own_folder(data) if docs is None else Path(docs)
    name = data.spec.name
    page = folder / f"{name}.md"
    if page.exists():
        text, figures = update_docs(page.read_text(encoding="utf-8"), data, analysis, name)
        write_report({page.name: text.encode(), **figures}, folder)
    else:
        write_report(render_docs(data, analysis, name), folder)
    return page


def _own_folder(run: RunData) -> Path:
    if run.spec.report.docs is None:
        raise UsageError(
            "the spec names no folder for its page",
            remedy="add `report: {docs: FOLDER}` to it, or give --docs FOLDER",
        )
    return Path(run.spec.report.docs)


def write_pages(
    run: File, *, out: File | None = None, template: File | None = None
) -> Written | None:
    """Write the Markdown page with its figures and the HTML page into ``out``, or ``run``/report;
    None when there is nothing to tell of yet. Raises as :func:`report`.
    """
    with opened(run) as path:
        data = read_run(path)
        if not data.trials:
            return None
        own = RunDirectory.open(path).template if template is None else Path(template)
        target = pages_of(run) if out is None else Path(out)
        return write_pages_of(data, analyse_run(data), target, own)


def write_pages_of(
    run: RunData, analysis: Analysis, target: Path, template: Path | None = None
) -> Written:
    """Write both pages of ``run`` into ``target``. Raises StorageError, and SpecError for the
    template.
    """
    pages = render_pages(run, analysis, template)
    write_report(pages.files, target)
    return Written(page=target / pages.markdown, html=target / pages.html, answer=pages.answer)
