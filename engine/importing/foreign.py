"""Files of one tool, and tables, as results of targets: each file with its experiment (the settings
that it says), its session, and the gates of its tool held against it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...workloads.registry import MODULES, get_workload
from ..model.errors import ParseError, SpecError, UnitError
from ..model.results import Direction, Measurement, Metric
from ..model.spec import Json
from . import tables
from .import_run import Piece, Result
from .origins import origin_of
from .readers import metrics_of, read_output

TOOLS = (
    "fio",
    "iperf3",
    "netperf",
    "fortio",
    "vault-benchmark",
    "diskspd",
    "sysbench",
    "openssl-speed",
    "sockperf",
    "stress-ng",
    "hyperfine",
    "wrk",
    "k6",
    "vegeta",
    "pgbench",
    "redis-benchmark",
)
"""What is imported beside knb, kubestr and tables."""

ALIASES = {"openssl": "openssl-speed"}


def read_file(tool: str, target: str, name: str, data: bytes) -> Result:
    """One file of ``tool``. Raises ParseError naming it."""
    try:
        output = read_output(tool, data, {})
    except ParseError as error:
        raise ParseError(error.message, where=name, remedy=error.remedy) from error
    origin = origin_of(tool, data)
    piece = Piece(
        key=(json.dumps(origin.settings, sort_keys=True),),
        measurements=output.measurements,
        gates=output.gates,
        nodes=origin.nodes,
    )
    return Result(
        target=target,
        name=name,
        data=data,
        made_at=origin.made_at,
        made_by=_made_by(tool, origin.version),
        pieces=(piece,),
        facts=(),
        unread=output.unread,
    )


def _made_by(tool: str, version: str | None) -> str:
    if version is None:
        return f"{tool} of unknown version"
    return version if version.lower().startswith(tool[:3]) else f"{tool} {version}"


def read_table(target: str, name: str, data: bytes) -> list[Result]:
    """A result for each target, session and trial of a table; lines without a session are one each
    for every series. Raises ParseError naming the file.
    """
    try:
        rows = tables.read(data, target)
    except ParseError as error:
        raise ParseError(error.message, where=name, remedy=error.remedy) from error
    cells: dict[tuple[str, str, str], dict[str, list[Measurement]]] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for row in rows:
        series = (row.target, row.workload, row.measurements[0].series)
        seen[series] = seen.get(series, 0) + 1
        cell = (row.target, row.session or f"line {seen[series]}", row.trial)
        cells.setdefault(cell, {}).setdefault(row.workload, []).extend(row.measurements)
    for cell, workloads in cells.items():
        for found in workloads.values():
            if len({one.series for one in found}) < len(found):
                where = ", ".join(filter(None, cell))
                raise ParseError(f"found a figure twice for {where}, expected once", where=name)
    return [
        Result(
            target=who,
            name=name,
            data=data,
            made_at=0.0,
            made_by=f"whoever published {name}",
            pieces=tuple(
                Piece(key=(workload,), measurements=tuple(found))
                for workload, found in workloads.items()
            ),
            facts=(),
            session=session,
        )
        for (who, session, _), workloads in cells.items()
    ]


def describe_workloads(
    tool: str, results: Sequence[Result], metrics: Mapping[str, Metric], *, native: bool
) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """The workloads of a spec for the results, and which is whose by the key of a piece.
    ``native``: as runs of the tool with the settings that the files say; else as figures of a
    command, which declares them itself.
    """
    keys = list(dict.fromkeys(piece.key for result in results for piece in result.pieces))
    names = _names(tool, keys)
    found: dict[str, Any] = {}
    targets = {result.target for result in results}
    for key in keys:
        mine = [
            piece.measurements
            for result in results
            for piece in result.pieces
            if piece.key == key and piece.measurements
        ]
        settings = json.loads(key[0]) if tool != tables.NAME else {}
        series = {one.series: one for measurements in mine for one in measurements}
        primary = _primary(tool, settings, series, metrics)
        whose = list(
            dict.fromkeys(
                result.target
                for result in results
                if any(piece.key == key for piece in result.pieces)
            )
        )
        known = {one.metric: metrics[one.metric] for one in series.values()}
        some = {"targets": whose} if len(whose) < len(targets) else {}
        found[names[key]] = some | (
            {"tool": tool, "with": settings, "primary": primary}
            if native
            else {
                "tool": "command",
                "with": {"run": [tool], "extract": {m.name: _rule(m) for m in known.values()}},
                "primary": primary,
                **({"description": _words(settings)} if settings else {}),
            }
        )
    return found, names


def _rule(metric: Metric) -> dict[str, Any]:
    return {
        "jsonpath": "$.value",
        "optional": True,
        "title": metric.title,
        "unit": metric.unit,
        "direction": metric.direction.value,
        "statistic": metric.statistic.value,
        **({"limits": list(metric.limits)} if metric.limits else {}),
    }


def _words(settings: Mapping[str, Json]) -> str:
    return "; ".join(f"{key}: {value}" for key, value in settings.items())


def _names(tool: str, keys: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """A table names its workloads; those of a tool are numbered where there are several."""
    if tool == tables.NAME:
        return {key: key[0] for key in keys}
    if len(keys) == 1:
        return {keys[0]: tool}
    return {key: f"{tool}-{number}" for number, key in enumerate(sorted(keys), start=1)}


def _wanted(tool: str, settings: Mapping[str, Json]) -> str:
    """The series that the tool itself would judge by; "" where that depends on what is not said."""
    if tool not in MODULES:
        return ""
    try:
        return get_workload(tool).primary(settings)
    except (SpecError, UnitError):
        return ""


def _primary(
    tool: str,
    settings: Mapping[str, Json],
    series: Mapping[str, Measurement],
    metrics: Mapping[str, Metric],
) -> str:
    """The tool's own primary series where the files have it; else the first that can be better."""
    wanted = _wanted(tool, settings)
    plain = wanted.partition("{")[0]
    better = [
        name
        for name, one in series.items()
        if metrics[one.metric].direction is not Direction.NEITHER
    ]
    alike = [name for name in better if series[name].metric == plain]
    total = [name for name in alike if "=total" in name]
    return next(iter([*([wanted] if wanted in series else []), *total, *alike, *better, *series]))


def metrics_in(tool: str, tabled: Sequence[bytes]) -> Mapping[str, Metric]:
    """What the figures are: declared by the tool, or by the tables themselves."""
    if tool != tables.NAME:
        return metrics_of(tool)
    return tables.metrics_of([row for data in tabled for row in tables.read(data, "-")])
