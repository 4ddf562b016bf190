"""What a workload is: parameters to commands, raw bytes to measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from ..results import Measurement, Metric
from ..spec import Experiment, Json, Role
from .values import Commands, Completed, Surroundings, Tool


@runtime_checkable
class Workload(Protocol):
    """A tool benchspec can measure with: pure functions over parameters (already checked by its
    schema) and raw bytes; no I/O.

    ``parameters`` are the JSON values of the spec (quantities still strings such as ``"60 s"``);
    the workload converts them itself. Satisfied by a module (``workloads/fio.py``). What only some
    need are protocols of their own, below: whoever asks uses ``isinstance``.
    """

    NAME: str
    METRICS: Sequence[Metric]
    ROLES: Sequence[Role]
    DEFAULT_GATES: Mapping[str, float]

    def metrics(self, parameters: Mapping[str, Json]) -> Sequence[Metric]:
        """The metrics of these parameters: METRICS for a tool with a fixed set; ``command``
        declares its own. Never import a fixed set by name.
        """
        ...

    def tools(self, parameters: Mapping[str, Json]) -> Sequence[Tool]:
        """The programs that must be on the target."""
        ...

    def primary(self, parameters: Mapping[str, Json]) -> str:
        """The series that carries the verdict unless the spec names another."""
        ...

    def duration_s(self, parameters: Mapping[str, Json]) -> float:
        """How long one trial is expected to take, ramp included, for the estimate and the
        deadline.
        """
        ...

    def commands(self, experiment: Experiment, surroundings: Surroundings) -> Commands:
        """The programs of one trial; argv only."""
        ...

    def parse(
        self, completed: Sequence[Completed], parameters: Mapping[str, Json]
    ) -> Sequence[Measurement]:
        """Numbers out of raw bytes, in base units. Raises ParseError, and nothing else, on any
        bytes.
        """
        ...


@runtime_checkable
class WritesVolumes(Protocol):
    """A workload that writes to the target's volume in these roles; the others get none made for
    them.
    """

    VOLUMES: Sequence[Role]


@runtime_checkable
class ListensOnPorts(Protocol):
    """A workload whose servers listen on more ports than the one of their endpoint."""

    def ports(self, parameters: Mapping[str, Json]) -> int:
        """On how many consecutive ports, from that of the endpoint on (at least 1)."""
        ...


@runtime_checkable
class NamesPorts(Protocol):
    """A workload whose spec may itself name ports that its servers listen on besides."""

    def fixed_ports(self, parameters: Mapping[str, Json]) -> Sequence[int]:
        """Those that these parameters name."""
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """A workload that reads its figures from files beside stdout."""

    def output_files(self, parameters: Mapping[str, Json]) -> Sequence[str]:
        """The names of the files, as in :attr:`Completed.files`, that ``parse`` reads."""
        ...


@runtime_checkable
class FeedsGates(Protocol):
    """A workload that measures what validity gates look at and what is no metric of its own."""

    GATE_INPUTS: Sequence[Metric]


@runtime_checkable
class PrintsReports(Protocol):
    """A workload whose tool prints a report for people: plain text, which can be cut anywhere and
    still read like one. Both are asked about text with plain line ends that ``parse`` took.
    """

    def unfinished(self, report: str) -> str | None:
        """What a whole report ends with and this one does not, in words; None: it is whole."""
        ...

    def unread(self, report: str) -> Sequence[str]:
        """Its lines that are results and that ``parse`` makes no measurement of."""
        ...


@runtime_checkable
class SpeaksHttp(Protocol):
    """A workload whose load can be HTTP, which is all that an ingress passes on."""

    HTTP: bool


@runtime_checkable
class MeasuresDevices(Protocol):
    """A workload that can measure a raw device (:attr:`Surroundings.devices`) instead of files."""

    DEVICES: bool
