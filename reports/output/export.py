"""Exports for programs: the analysis as JSON, the measurements as CSV. Absent stays absent (null,
no row); never NaN, never 0.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum

from ...engine.analysis.model import Analysis, Cell, Contrast, Saturation, Verdict
from ...engine.facts.catalogue import is_published
from ...engine.model.codec import encode
from ...engine.model.results import RunData, Trial, TrialKind
from ...engine.model.spec import Json
from ..page.settings import UsedSettings, write_compared
from ..page.sweeps import write_saturation
from ..wording.numbers import steady
from ..wording.reasons import write_no_level, write_no_value, write_remark
from ..wording.sentences import name_sides
from ..wording.verdict_words import shown_percent, verdict_words

FORMAT = "benchspec-results/1"
COLUMNS = (
    "trial",
    "session",
    "kind",
    "target",
    "workload",
    "cell",
    "metric",
    "labels",
    "value",
    "unit",
    "status",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_json(run: RunData, analysis: Analysis) -> bytes:
    """The whole analysis with its checks, claims, findings and the trials' states. Floats are cut
    to ten significant digits.

    Facts that name a machine (its id, its host name) are left out: they stay in the run directory.

    Every comparison carries its verdict beside its ratio; ``sentence`` is what a page says of it.
    """
    titles = {target.name: target.title for target in run.spec.targets}
    contrasts, used = [], UsedSettings(run)
    for contrast in analysis.contrasts:
        names = name_sides(contrast, titles)
        row = _contrast(contrast)
        row["words"] = verdict_words(contrast)
        percent = shown_percent(contrast)
        row["percent"] = None if percent is None else _number(percent.value)
        row["sentence"] = (
            write_compared(used, contrast, names, analysis.family) if contrast.primary else None
        )
        contrasts.append(row)
    document: dict[str, Json] = {
        "format": FORMAT,
        "run": {
            "id": run.run_id,
            "manifest": plain(run.manifest),
            "complete": run.complete,
            "resumed": run.resumed,
        },
        "spec": plain(run.document),
        "formula": "percent = 100 (b/a - 1), a the baseline",
        "confidence": analysis.confidence,
        "equivalence": analysis.equivalence,
        "baseline": analysis.baseline,
        "family": analysis.family,
        "cells": [_cell(cell) for cell in analysis.cells],
        "contrasts": contrasts,
        "saturations": [
            {
                **_saturation(each),
                "sentence": write_saturation(each, titles, analysis.confidence),
            }
            for each in analysis.saturations
        ],
        "experiments": [
            {
                "id": e.id,
                "target": e.target,
                "workload": e.workload,
                "cell": e.cell,
                "primary": e.primary,
            }
            for e in run.experiments
        ],
        "skipped": plain(run.skipped),
        "trials": [_trial(trial) for trial in run.trials],
        "facts": plain(
            [replace(s, facts=tuple(f for f in s.facts if is_published(f.name))) for s in run.facts]
        ),
        "claims": plain(run.claims),
        "findings": plain((*run.findings, *analysis.findings)),
    }
    return (
        json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()


def export_csv(run: RunData) -> bytes:
    """One row per measurement (RFC 4180, UTF-8, CRLF). Values are exact, in base units; text that a
    spreadsheet would run gets an apostrophe.

    A trial without a measurement has one row with its status and no value.
    """
    places = {e.id: (guard(e.target), guard(e.workload), guard(e.cell)) for e in run.experiments}
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for trial in run.trials:
        writer.writerows(_rows(trial, places))
    return buffer.getvalue().encode()


def encode_contrasts(contrasts: Sequence[Contrast]) -> list[dict[str, Json]]:
    """Comparisons as JSON values with all digits, reasons in words; what is absent is left out, and
    so is ``same_settings`` where it is false.
    """
    return [
        _without_same({**encode(contrast), "verdict": _without_absent(_verdict(contrast.verdict))})
        for contrast in contrasts
    ]


def guard(text: str) -> str:
    """``text`` with an apostrophe before a character that makes a spreadsheet read it as a formula
    (OWASP, CSV injection).
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def plain(value: object) -> Json:
    """Dataclasses, enums and mappings as JSON values; a float that is not finite becomes null."""
    if value is None or (isinstance(value, bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if is_dataclass(value):
        return _mapping(value)
    return (
        [plain(item) for item in value]
        if isinstance(value, Sequence | frozenset | set)
        else str(value)
    )


def _mapping(value: object) -> dict[str, Json]:
    return (
        {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        if is_dataclass(value)
        else {}
    )


def _contrast(contrast: Contrast) -> dict[str, Json]:
    return _without_same({**_mapping(contrast), "verdict": _verdict(contrast.verdict)})


def _without_same(contrast: dict[str, Json]) -> dict[str, Json]:
    """``contrast`` without ``same_settings`` where it is false."""
    return {key: value for key, value in contrast.items() if key != "same_settings" or value}


def _verdict(verdict: Verdict | None) -> dict[str, Json] | None:
    """A verdict as it is exported: the kind of a void one, and the reason in words."""
    if verdict is None:
        return None
    return {
        "void": plain(verdict.void),
        "reason": write_remark(verdict),
        "because": _because(verdict),
        "settled": verdict.settled,
        "difference": plain(verdict.difference),
        "margin": plain(verdict.margin),
    }


def _because(verdict: Verdict) -> dict[str, Json] | None:
    """The reason as data: its kind and what it is about (targets, counts, limits)."""
    reason = verdict.reason or verdict.no_ratio or verdict.other_mean or verdict.adjusted
    if reason is None:
        return None
    return {"kind": type(reason).__name__, **_mapping(reason)}


def _without_absent(row: dict[str, Json] | None) -> dict[str, Json] | None:
    return row and {name: value for name, value in row.items() if value is not None}


def _cell(cell: Cell) -> dict[str, Json]:
    why = None if cell.not_measured is None else write_no_value(cell.not_measured)
    return {**_mapping(cell), "not_measured": why}


def _saturation(saturation: Saturation) -> dict[str, Json]:
    why = None if saturation.reason is None else write_no_level(saturation.reason)
    return {**_mapping(saturation), "reason": why}


def _number(value: float) -> float | None:
    return steady(value) if math.isfinite(value) else None


def _trial(trial: Trial) -> dict[str, Json]:
    """A trial without its measurements: those are in the CSV."""
    return {
        "sequence": trial.sequence,
        "experiment": trial.experiment_id,
        "session": trial.session,
        "kind": trial.kind.value,
        "index": trial.index,
        "status": trial.status.value,
        "started_at": _number(trial.started_at)
        if trial.started_at
        else None,  # 0: whose results were imported did not say
        "duration_s": _number(trial.duration_s) if trial.duration_s else None,
        "error": trial.error,
        "failure": trial.failure,
        "gates": [plain(gate) for gate in trial.gates if not gate.passed],
        "raw": [file.path for file in trial.raw],
        "replaces": trial.replaces,
        "nodes": dict(trial.nodes),
        "start_skew_s": None if trial.start_skew_s is None else _number(trial.start_skew_s),
    }


def _rows(trial: Trial, places: Mapping[str, tuple[str, str, str]]) -> Iterator[tuple[object, ...]]:
    unknown = ("", "", guard(trial.experiment_id))
    kind = "warmup" if trial.kind is TrialKind.WARMUP else "measured"
    head = (trial.sequence, trial.session, kind, *places.get(trial.experiment_id, unknown))
    status = trial.status.value
    if not trial.measurements:
        yield (*head, "", "", "", "", status)
    for m in trial.measurements:
        labels = (
            ";".join([f"{key}={m.labels[key]}" for key in sorted(m.labels)]) if m.labels else ""
        )
        yield (
            *head,
            guard(m.metric),
            guard(labels),
            repr(float(m.value)) if math.isfinite(m.value) else "",
            guard(m.unit),
            status,
        )
