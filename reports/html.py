"""One HTML file that needs nothing else: inline figures and style, no script, and a policy that lets a browser load nothing."""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from .figures import Figure
from .model import View
from .sandbox import BUILT_IN, Sandbox, render
from .svg import escape

PAGE, STYLE = "page.html.j2", "page.css"


def render_page(view: View) -> bytes:
    """The page as HTML. The content security policy allows this very style sheet by its hash and nothing besides."""
    style = (BUILT_IN / STYLE).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Sandbox(escape)
    environment.filters["figure"] = inline_figure
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return render(environment, PAGE, {"view": view, "style": Markup(style), "policy": policy}).encode()


def inline_figure(figure: Figure) -> Markup:
    """The drawing itself; its SVG was escaped when it was made."""
    return Markup(figure.svg.decode())
