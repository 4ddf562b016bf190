"""Markdown pages: valid for GitHub, MkDocs and Docusaurus, the same bytes for the same run."""

from __future__ import annotations

import re
from pathlib import Path

from ..page.layout import lay_out
from ..page.model import View
from ..sandbox.confined import confined
from ..sandbox.sandbox import Sandbox, render
from .escape import MarkdownText, code_span, escape_markdown
from .markdown_blocks import write_markdown

PAGE, SUMMARY = "page.md.j2", "summary.md.j2"


def render_page(view: View, template: Path | None = None, folder: str = "figures") -> bytes:
    """The page as Markdown, from the built-in template or the author's own. ``folder`` is where its
    figures lie, relative to the page.

    Raises:
        SpecError: the template is wrong, with file and line, or asks for too much.
    """
    context = {"view": view, "folder": folder}
    if template is None:
        return _tidy(render(make_environment(), PAGE, context))
    environment, name = make_environment(template.parent), template.name
    return _tidy(confined(lambda: render(environment, name, context), name))


def render_summary(view: View, limit: int = 60_000) -> bytes:
    """A comment for a pull request or a job: established differences first, the rest folded, at
    most ``limit`` characters.
    """
    text = _tidy(render(make_environment(), SUMMARY, {"view": view, "folder": "", "rows": 50}))
    if len(text.decode()) > limit:
        text = _tidy(render(make_environment(), SUMMARY, {"view": view, "folder": "", "rows": 0}))
    if len(text.decode()) <= limit:
        return text
    kept = text.decode()[:limit].rpartition("\n\n")[0]
    return f"{kept}\n\nShortened: the page has the rest.\n".encode()


def make_environment(root: Path | None = None) -> Sandbox:
    """The sandbox for Markdown, with ``code`` and ``cell`` filters, and that which makes the
    built-in page of a view; templates are found below ``root``, then among the built-in ones.
    """
    environment = Sandbox(escape_markdown, root)
    environment.filters["code"] = lambda value: code_span(str(value))
    environment.filters["cell"] = _cell
    environment.filters["built_in_page"] = _built_in_page
    return environment


def _built_in_page(view: View, folder: str) -> MarkdownText:
    return write_markdown(lay_out(view), folder)


def _cell(value: object) -> MarkdownText:
    """A table cell: a dash where there is nothing to say."""
    text = "" if value is None else str(value)
    return MarkdownText(escape_markdown(text) if text else "–")


def _tidy(text: str) -> bytes:
    """No trailing blanks, at most one empty line in a row, one newline at the end."""
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return (re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n").encode()
