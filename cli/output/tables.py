"""Tables for terminals: rich on a TTY, plain aligned columns in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .terminal import echo, has_color, plain


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    styles: Sequence[Sequence[str]] | None = None,
) -> None:
    """Print ``rows`` under ``header`` on stdout; ``styles`` are the colours of the cells."""
    rows = [[plain(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Column, Table
        from rich.text import Text

        colors = styles or [[""] * len(header)] * len(rows)
        columns = [Column(name, overflow="fold") for name in header]
        table = Table(*columns, box=None, header_style="bold", pad_edge=False)
        for row, of_row in zip(rows, colors, strict=True):
            table.add_row(*(Text(cell, style) for cell, style in zip(row, of_row, strict=True)))
        Console(color_system="auto" if has_color() else None).print(table)
        return
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
