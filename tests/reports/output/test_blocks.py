"""Blocks in both formats: what is data is escaped, what is the page's own stands as it is."""

from __future__ import annotations

import pytest

from benchspec.reports.output.html_blocks import write_html
from benchspec.reports.output.markdown_blocks import write_markdown
from benchspec.reports.page.blocks import (
    Align,
    Block,
    Bullet,
    Bullets,
    Cell,
    Code,
    Column,
    Fold,
    Heading,
    LineBreak,
    Link,
    Manner,
    Pairs,
    Paragraph,
    PerFormat,
    Table,
    Words,
    columns,
    joined,
    row,
)
from benchspec.reports.page.model import Item

DATA = "<b> | `x`"
IN_MARKDOWN = "&lt;b&gt; &#124; &#96;x&#96;"
IN_HTML = "&lt;b&gt; | `x`"
SEE = Link(text=("aks",), anchor="raw-1", hint=(Words("trials "), "1 to 3"))


@pytest.mark.parametrize(
    ("block", "markdown", "html"),
    [
        (Heading(level=2, text=(Words("Raw"),), anchor="raw"), "## Raw", '<h2 id="raw">Raw</h2>'),
        (
            Heading(level=4, text=(DATA,), anchor="x"),
            f'<a id="x"></a>\n\n#### {IN_MARKDOWN}',
            f'<h4 id="x">{IN_HTML}</h4>',
        ),
        (
            Paragraph(text=("a", Words(" against"), LineBreak(), Code("b<"))),
            "a against\n`b<`",
            "<p>a against <code>b&lt;</code></p>",
        ),
        (
            Paragraph(text=(DATA,), manner=Manner.WARNING),
            f"**{IN_MARKDOWN}**",
            f'<p class="warning">{IN_HTML}</p>',
        ),
        (
            Paragraph(text=(SEE,)),
            "[aks](#raw-1)",
            '<p><a href="#raw-1" title="trials 1 to 3">aks</a></p>',
        ),
        (
            Bullets(items=(Bullet(text=joined((("a",), ("b",)), ", "), tone="worse"),)),
            "- a, b",
            '<ul class="summary">\n<li class="worse">a, b</li>\n</ul>',
        ),
        (
            Pairs(items=(Item(name="Run", text=DATA),)),
            f"| | |\n|---|---|\n| Run | {IN_MARKDOWN} |",
            (
                f'<div class="scroll"><table>\n<tr><th>Run</th><td>{IN_HTML}</td></tr>\n'
                "</table></div>"
            ),
        ),
        (
            Fold(title=(Words("More"),), lead=(Words("Also:"),), blocks=(Paragraph(text=("x",)),)),
            "Also:\n\nx",
            "<details><summary>More</summary>\n<p>x</p>\n</details>",
        ),
        (PerFormat(markdown=(Paragraph(text=("m",)),)), "m", ""),
        (PerFormat(html=(Paragraph(text=("h",)),)), "", "<p>h</p>"),
    ],
)
def test_a_block_in_both_formats(block: Block, markdown: str, html: str) -> None:
    assert write_markdown([(block,)], "figures") == markdown
    assert write_html([(block,)]) == (f"{html}\n" if html else "")


def test_a_table_in_both_formats() -> None:
    table = Table(
        columns=(
            *columns("Target"),
            *columns("Mean", align=Align.NUMBER),
            *columns("Limit", align=Align.WIDE, optional=True),
            Column(title=(Words("State"),)),
        ),
        rows=(
            row("a|b", "1.5", "", Cell(text=("contradicted",), state="contradicted"), anchor="r1"),
            row("c", Cell(text=("not measured",), columns=2), (Code("x"),)),
        ),
    )
    assert write_markdown([(table,)], "figures") == (
        "| Target | Mean | Limit | State |\n"
        "|---|--:|---|---|\n"
        '| <a id="r1"></a>a&#124;b | 1.5 | – | **contradicted** |\n'
        "| c | not measured | – | `x` |"
    )
    assert write_html([(table,)]) == (
        '<div class="scroll"><table>\n'
        '<tr><th>Target</th><th class="n">Mean</th><th class="w">Limit</th><th>State</th></tr>\n'
        '<tr id="r1"><td>a|b</td><td class="n">1.5</td><td class="w"></td>'
        '<td class="contradicted">contradicted</td></tr>\n'
        '<tr><td>c</td><td colspan="2">not measured</td><td><code>x</code></td></tr>\n'
        "</table></div>\n"
    )
