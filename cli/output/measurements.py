"""What ``benchspec parse`` prints: measurements, as lines or as JSON, and what was not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .documents import print_json
from .terminal import echo

if TYPE_CHECKING:
    from ...engine.importing.origins import Origin
    from ...engine.importing.readers import Output


def print_measurements(
    tool: str, output: Output, origin: Origin, reasons: Sequence[str], *, as_json: bool
) -> None:
    """Print the measurements of ``output``, and to stderr how many lines were not read.

    Raises:
        GateFailed: ``reasons`` is not empty; it says them.
    """
    if as_json:
        print_json(_document(tool, output, origin, reasons))
    else:
        for m in output.measurements:
            echo(f"{m.series}\t{m.value!r}\t{m.unit}")
    _judge(output.unread, reasons)


def _document(
    tool: str, output: Output, origin: Origin, reasons: Sequence[str]
) -> dict[str, object]:
    rows = [
        {
            "metric": m.metric,
            "value": m.value,
            "unit": m.unit,
            "raw_unit": origin.unit_of(m.metric) or m.unit,
            "labels": dict(m.labels),
        }
        for m in output.measurements
    ]
    return {
        "tool": tool,
        "version": origin.version,
        "valid": not reasons,
        "reasons": list(reasons),
        "unread": list(output.unread),
        "measurements": rows,
    }


def _judge(unread: Sequence[str], reasons: Sequence[str]) -> None:
    """Say on stderr what was not read. Raises GateFailed where a gate refuses the result."""
    from ...engine.model.errors import GateFailed

    if unread:
        named = "; ".join(line.strip()[:60] for line in unread[:5])
        more = f" and {len(unread) - 5} more" if len(unread) > 5 else ""
        echo(f"{len(unread)} lines with results were not read: {named}{more}", err=True)
    if reasons:
        raise GateFailed(
            f"the result is not valid: {'; '.join(reasons)}",
            remedy="--no-gates takes it all the same",
        )
