"""hyperfine's ``--export-json``: the times of commands, in s.

Format: https://github.com/sharkdp/hyperfine, ``src/export/json.rs``: ``results`` is a list with a
``command`` each, its statistics, ``times`` and ``exit_codes`` of all runs. A run that ended with
another exit code than 0 was only taken because it was told to (``--ignore-failure``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...workloads.shared.measurements import measurements
from ..model.errors import ParseError
from ..model.results import Direction, Measurement, Metric, Statistic
from ..model.text.json_output import as_mapping, as_sequence, figure, only_document

NAME = "hyperfine"


def _time(name: str, title: str, direction: Direction = Direction.LOWER) -> Metric:
    return Metric(name=name, title=title, unit="s", direction=direction)


METRICS: Sequence[Metric] = (
    _time("time.mean", "Mean time"),
    _time("time.stddev", "Standard deviation of the time", Direction.NEITHER),
    _time("time.median", "Median time"),
    _time("time.min", "Least time"),
    _time("time.max", "Greatest time"),
    _time("time.user", "Time on CPUs, user"),
    _time("time.system", "Time on CPUs, system"),
    Metric(
        name="error.ratio",
        title="Share of runs that ended with another exit code than 0",
        unit="ratio",
        direction=Direction.LOWER,
        statistic=Statistic.ARITHMETIC_MEAN,
    ),
    Metric(name="samples", title="Runs", unit="1", direction=Direction.NEITHER),
)
DEFAULT_GATES = {"max_error_ratio": 0.0}
_KEYS = {
    "time.mean": "mean",
    "time.stddev": "stddev",
    "time.median": "median",
    "time.min": "min",
    "time.max": "max",
    "time.user": "user",
    "time.system": "system",
}


def parse(data: bytes) -> Sequence[Measurement]:
    """Measurements labelled ``command=...``; with parameters (``-L``) these are labels, too.

    Raises:
        ParseError: no export of hyperfine, or one without a command that was timed.
    """
    document = as_mapping(only_document(data, NAME))
    results = [as_mapping(one) for one in as_sequence(document.get("results"))]
    found: list[Measurement] = []
    for result in results:
        command = result.get("command")
        if not isinstance(command, str) or not figure(result, "mean"):
            raise ParseError("found a result without command or mean, expected those of hyperfine")
        codes = as_sequence(result.get("exit_codes"))
        times = as_sequence(result.get("times"))
        failed = sum(code != 0 for code in codes) / len(codes) if codes else None
        labels = {key: str(value) for key, value in as_mapping(result.get("parameters")).items()}
        found += measurements(
            METRICS,
            {
                **{name: figure(result, key) for name, key in _KEYS.items()},
                "error.ratio": failed,
                "samples": float(len(times)) if times else None,
            },
            {**labels, "command": command},
        )
    if not found:
        raise ParseError("found no results, expected an export of hyperfine (--export-json)")
    if len({one.series for one in found}) < len(found):
        raise ParseError("found a command twice, expected each once")
    return found
