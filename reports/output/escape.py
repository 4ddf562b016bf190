"""Plain text made safe for Markdown, whichever dialect reads it.

Titles, findings and facts come from specs, tools and machines. In a page they must stay text: no
HTML, link, table cell, heading, list, front matter, template brace or MDX statement may grow out of
them. Numeric character references do that in CommonMark, GitHub, Python-Markdown (MkDocs) and MDX
(Docusaurus) alike, where backslashes do not.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from ..figures.svg import clean

_SPECIAL = re.compile(
    r"[&<>\"`*\[\]{}|\\~#!$^@]"  # what starts markup anywhere
    # an underscore at the edge of a word; inside one it is text everywhere
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|:(?=//)|(?<=www)\."  # what makes a bare address a link
    # what starts a list, a rule, a directive at the start of a line
    r"|^[-+=:](?![^\W_])|^\d{1,9}(?=[.)](?:\s|$))",
    re.IGNORECASE,
)
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_STATEMENT = re.compile(r"^(import|export)\b")


class MarkdownText(Markup):
    """Text that is Markdown already; anything else is escaped where it is printed."""


def escape_markdown(text: str) -> str:
    """``text`` on one line as Markdown that shows exactly that text, at the start of a line as well
    as inside one.
    """
    line = _SPECIAL.sub(
        lambda match: "".join(_NAMED.get(c, f"&#{ord(c)};") for c in match[0]), clean(text)
    )
    return _STATEMENT.sub(lambda match: f"&#{ord(match[0][0])};{match[0][1:]}", line)


def code_span(text: str) -> MarkdownText:
    """``text`` as code. Inside code no reference is decoded: text with a bar, a backquote, a
    backslash or a template's braces stays plain text.
    """
    line = clean(text)
    if not line or re.search(r"[|`\\]|\{[{%#]", line):
        return MarkdownText(escape_markdown(line))
    return MarkdownText(f"`{line}`")
