"""From plain figures to measurements: the unit comes from the metric a workload declared, and what
was not measured drops out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...engine.model.errors import ParseError
from ...engine.model.results import Measurement, Metric


def measurements(
    metrics: Sequence[Metric],
    values: Mapping[str, float | None],
    labels: Mapping[str, str] | None = None,
) -> tuple[Measurement, ...]:
    """Measurements of ``values`` (base units, by metric name) in the order in which ``metrics``
    declares them.

    None means "not measured" and yields nothing. A name that is not declared is our bug: KeyError.

    Raises:
        ParseError: a value that is not finite, which only absurd figures in the output can bring
            about.
    """
    declared = {metric.name for metric in metrics}
    if undeclared := values.keys() - declared:
        raise KeyError(f"metrics that were never declared: {', '.join(sorted(undeclared))}")
    if absurd := [
        name for name, value in values.items() if value is not None and not math.isfinite(value)
    ]:
        raise ParseError(f"found figures too large to be real for {', '.join(sorted(absurd))}")
    found = ((metric, values.get(metric.name)) for metric in metrics)
    return tuple(
        Measurement(metric=metric.name, value=value, unit=metric.unit, labels=dict(labels or {}))
        for metric, value in found
        if value is not None
    )
