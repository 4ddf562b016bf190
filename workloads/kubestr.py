"""kubestr's ``-o json``: fio's document in a wrapper. It is read, not run: benchspec measures volumes with fio itself (preset ``kubestr``).

Format: https://github.com/kastenhq/kubestr, pkg/fio. A list of one ``{"TestName", "Status": [{"StatusCode", "StatusMessage"}], "Raw"}``; ``Raw`` is
``{"size", "storageClass", "fioConfig", "result": fio's document}``, or null after a failure. kubestr writes fio's document anew and leaves out what
is zero: what is missing was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..engine.errors import ParseError
from ..engine.results import Measurement, Metric
from ..engine.spec import Json
from . import fio_metrics, fio_output
from .documents import as_mapping, as_sequence, last_document
from .quantities import text

NAME = "kubestr"
METRICS: Sequence[Metric] = fio_metrics.METRICS
_FAILED = "Error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one kubestr run says: the volume's class and size as asked for, the job file, and fio's measurements; "" for what it does not say."""

    storage_class: str
    size: str
    job_file: str
    measurements: tuple[Measurement, ...]


def parse(data: bytes) -> Sequence[Measurement]:
    """fio's measurements. Raises ParseError."""
    return read(data).measurements


def read(data: bytes) -> Outcome:
    """What kubestr wrote with ``-o json -e FILE``.

    Raises:
        ParseError: kubestr failed (its own words are quoted), or this is not one whole result of kubestr.
    """
    document = last_document(data, NAME)
    tests = [as_mapping(test) for test in as_sequence(document)]
    if len(tests) != 1 or not {"TestName", "Status"} <= tests[0].keys():
        raise ParseError(
            f"found {len(tests) or 'no'} tests of kubestr, expected one", remedy="give it the file that `kubestr fio -o json -e FILE` wrote"
        )
    raw, status = tests[0].get("Raw"), [as_mapping(one) for one in as_sequence(tests[0].get("Status"))]
    if failed := [one for one in status if one.get("StatusCode") == _FAILED]:
        raise ParseError(f"kubestr failed: {_said(failed)}")
    if not isinstance(raw, Mapping):
        raise ParseError(f"kubestr's Raw is {raw!r}, expected what fio measured; kubestr says: {_said(status) or 'nothing'}")
    if not isinstance(raw.get("result"), Mapping):
        raise ParseError(f"kubestr's Raw.result is {raw.get('result')!r}, expected fio's document")
    measured = fio_output.read(raw["result"])
    return Outcome(storage_class=text(raw, "storageClass"), size=text(raw, "size"), job_file=text(raw, "fioConfig"), measurements=measured)


def _said(status: Sequence[Mapping[str, Json]]) -> str:
    return "; ".join(f"{one.get('StatusMessage')}" for one in status if one.get("StatusMessage"))
