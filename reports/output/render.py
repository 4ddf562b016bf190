"""The one door to reports: a run and its analysis to files by name, and the one place that writes
them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...engine.analysis.model import Analysis
from ...engine.model.errors import StorageError, UsageError
from ...engine.model.results import RunData
from ..page.answer import Answer, make_answer
from ..page.model import View
from ..page.view import build_view

FORMATS = ("markdown", "html", "json", "csv", "summary", "openmetrics", "bencher", "parquet")


def render_report(
    run: RunData,
    analysis: Analysis,
    format: str = "markdown",
    out_dir: Path | None = None,
    template: Path | None = None,
) -> Mapping[str, bytes]:
    """The files of a report by name relative to its folder, the main file first.

    ``markdown`` gives ``page.md`` (or what ``template`` is called, without ``.j2``) and
    ``figures/*.svg``; ``html`` one ``page.html``; ``json`` ``results.json``; ``csv``
    ``results.csv``; ``summary`` ``summary.md``; ``openmetrics`` ``results.prom``; ``bencher``
    ``bencher.json``; ``parquet`` ``results.parquet``. With ``out_dir`` they are also written there.

    Raises:
        UsageError: an unknown format, a template for another format than Markdown, or pyarrow is
            missing.
        SpecError: the template is wrong; with file and line.
        StorageError: ``out_dir`` cannot be written.
    """
    if template is not None and format != "markdown":
        raise UsageError(
            f"a template makes Markdown, not {format}", remedy="leave out --format or --template"
        )
    files = _render(run, analysis, format, template)
    if out_dir is not None:
        write_report(files, out_dir)
    return files


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Both pages of a run, their files by name (the Markdown page first, then ``page.html``), and
    what they answer.
    """

    files: Mapping[str, bytes]
    markdown: str
    html: str
    answer: Answer


def render_pages(run: RunData, analysis: Analysis, template: Path | None = None) -> Pages:
    """The Markdown page with its figures, the HTML page and the answer, all of one view. Raises
    SpecError: the template is wrong; with file and line.
    """
    from . import html

    view = build_view(run, analysis)
    files = dict(_markdown(view, template))
    name = next(iter(files))
    return Pages(
        files=files | {"page.html": html.render_page(view)},
        markdown=name,
        html="page.html",
        answer=make_answer(run, analysis, view),
    )


def write_report(files: Mapping[str, bytes], out_dir: Path) -> None:
    """Write ``files`` below ``out_dir``, each whole or not at all (temporary file, then rename).

    Raises:
        StorageError: it cannot be written.
    """
    for name, data in files.items():
        path = out_dir / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except OSError as error:
            raise StorageError(
                f"cannot write the report: {error.strerror}",
                where=str(path),
                remedy="free space or name another folder",
            ) from error


def _render(
    run: RunData, analysis: Analysis, format: str, template: Path | None
) -> Mapping[str, bytes]:
    match format:
        case "markdown":
            return _markdown(build_view(run, analysis), template)
        case "html":
            from . import html

            return {"page.html": html.render_page(build_view(run, analysis))}
        case "summary":
            from . import markdown

            return {"summary.md": markdown.render_summary(build_view(run, analysis))}
        case "json":
            from .export import export_json

            return {"results.json": export_json(run, analysis)}
        case "csv":
            from .export import export_csv

            return {"results.csv": export_csv(run)}
        case "openmetrics" | "bencher" | "parquet":
            from . import exchange

            return exchange.export(run, analysis, format)
        case _:
            raise UsageError(f"unknown format {format!r}, expected one of {', '.join(FORMATS)}")


def _markdown(view: View, template: Path | None) -> Mapping[str, bytes]:
    from . import markdown

    name = template.name.removesuffix(".j2") if template else "page.md"
    return {
        name: markdown.render_page(view, template),
        **{f"figures/{f.name}.svg": f.svg for f in view.figures},
    }


def _replace(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
