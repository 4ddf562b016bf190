"""One HTML file that needs nothing else: inline figures and style, no script, and a policy that
lets a browser load nothing.
"""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from ..figures.svg import escape
from ..page.layout import lay_out
from ..page.model import View
from ..sandbox.sandbox import BUILT_IN, Sandbox, render
from .html_blocks import write_html

PAGE, STYLE = "page.html.j2", "page.css"


def render_page(view: View) -> bytes:
    """The page as HTML. The content security policy allows this very style sheet by its hash and
    nothing besides.
    """
    style = (BUILT_IN / STYLE).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Sandbox(escape)
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = write_html(lay_out(view))
    context = {"view": view, "body": body, "style": Markup(style), "policy": policy}
    return render(environment, PAGE, context).encode()
