"""The raw output of a tool read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..engine.importing.origins import Origin, origin_of
from ..engine.importing.readers import Output, parse_output, read_output
from ..engine.model.results import Measurement
from ..engine.model.spec import Json


def parse(
    tool: str, output: bytes, parameters: Mapping[str, Json] | None = None
) -> Sequence[Measurement]:
    """The measurements in ``output``, in base units (s, B, B/s, bit/s, 1/s, ratio).

    ``tool`` is that of a workload, or ``kubestr`` or ``knb``; ``parameters`` are the workload's
    own, where its parser needs them.

    Raises:
        SpecError: an unknown tool.
        ParseError: the output holds no measurement, or one that cannot be trusted.
    """
    return parse_output(tool, output, parameters or {})


def judge(tool: str, output: bytes, parameters: Mapping[str, Json] | None = None) -> Output:
    """The same with the tool's own gates held against it, and the lines that were not read. Raises
    as :func:`parse`.
    """
    return read_output(tool, output, parameters or {})


def origin(tool: str, output: bytes) -> Origin:
    """What ``output`` says of itself: the tool's version, its units, when and where."""
    return origin_of(tool, output)
