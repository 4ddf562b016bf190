"""kubestr's ``-o json``: fio's document in a wrapper. It is read, not run: benchspec measures
volumes with fio itself (preset ``kubestr``).

Format: https://github.com/kastenhq/kubestr, pkg/fio. A list of one ``{"TestName", "Status":
[{"StatusCode", "StatusMessage"}], "Raw"}``; ``Raw`` is ``{"size", "storageClass", "fioConfig",
"result": fio's document}``, or null after a failure. kubestr writes fio's document anew and leaves
out what is zero: what is missing was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...workloads.fio import metrics as fio_metrics
from ...workloads.fio import output as fio_output
from ...workloads.shared.quantities import text
from ..model.errors import ParseError, UnitError
from ..model.results import Measurement, Metric
from ..model.spec import Json
from ..model.text.json_output import as_mapping, as_sequence, child, figure, only_document
from ..model.units import Dimension, parse_quantity

NAME = "kubestr"
METRICS: Sequence[Metric] = fio_metrics.METRICS
_FAILED = "Error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one kubestr run says: of the volume by the names of the facts under ``storage`` (class,
    provisioner, parameters, binding; size as asked for, in B), the job file, when fio ended (Unix
    s; 0: not said), and fio's measurements.
    """

    storage: Mapping[str, Json]
    job_file: str
    made_at: float
    measurements: tuple[Measurement, ...]


def parse(data: bytes) -> Sequence[Measurement]:
    """fio's measurements. Raises ParseError."""
    return read(data).measurements


def read(data: bytes) -> Outcome:
    """What kubestr wrote with ``-o json -e FILE``.

    Raises:
        ParseError: kubestr failed (its own words are quoted), or this is not one whole result of
            kubestr.
    """
    document = only_document(data, NAME)
    tests = [as_mapping(test) for test in as_sequence(document)]
    if len(tests) != 1 or not {"TestName", "Status"} <= tests[0].keys():
        raise ParseError(
            f"found {len(tests) or 'no'} tests of kubestr, expected one",
            remedy="give it the file that `kubestr fio -o json -e FILE` wrote",
        )
    raw, status = (
        tests[0].get("Raw"),
        [as_mapping(one) for one in as_sequence(tests[0].get("Status"))],
    )
    if failed := [one for one in status if one.get("StatusCode") == _FAILED]:
        raise ParseError(f"kubestr failed: {_said(failed)}")
    if not isinstance(raw, Mapping):
        raise ParseError(
            f"kubestr's Raw is {raw!r}, expected what fio measured; kubestr says:"
            f" {_said(status) or 'nothing'}"
        )
    if not isinstance(raw.get("result"), Mapping):
        raise ParseError(f"kubestr's Raw.result is {raw.get('result')!r}, expected fio's document")
    result = as_mapping(raw["result"])
    measured = fio_output.read(result)
    return Outcome(
        storage=_storage(raw),
        job_file=text(raw, "fioConfig"),
        made_at=figure(result, "timestamp") or 0.0,
        measurements=measured,
    )


def _storage(raw: Mapping[str, Json]) -> Mapping[str, Json]:
    made = as_mapping(raw.get("storageClass"))
    parameters = ", ".join(
        f"{key}={value}" for key, value in sorted(as_mapping(made.get("parameters")).items())
    )
    found: dict[str, Json] = {
        "class": child(made, "metadata").get("name"),
        "provisioner": made.get("provisioner"),
        "parameters": (parameters or "none") if made else None,
        "binding": made.get("volumeBindingMode"),
        "size": _bytes(text(raw, "size")),
    }
    return {key: value for key, value in found.items() if value is not None}


def _bytes(size: str) -> int | None:
    """A size as Kubernetes writes it (``400Gi``)."""
    try:
        return round(
            parse_quantity(f"{size}B" if not size.isdigit() else f"{size} B", Dimension.BYTES)
        )
    except UnitError:
        return None


def _said(status: Sequence[Mapping[str, Json]]) -> str:
    return "; ".join(f"{one.get('StatusMessage')}" for one in status if one.get("StatusMessage"))
