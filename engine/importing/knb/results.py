"""knb's results (k8s-bench-suite 1.4 and 1.5): TCP and UDP between pods and to a Service, and what
both nodes did meanwhile.

They are read, not run: benchspec measures paths with iperf3 itself. knb runs ``iperf3 -O 1 -f m``
and keeps the rate that the receiver saw, so a UDP rate is what arrived; its loss was not kept. CPU
is the mean of ``sar`` over the whole node, memory that of ``free -m`` (MiB, though knb prints MB).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ....workloads.shared.measurements import measurements
from ...model.errors import ParseError
from ...model.results import Direction, Measurement, Metric, Statistic
from ...model.spec import Json, Role, TrafficPath
from ...model.text.json_output import as_mapping, child, figure
from ...model.text.strict_numbers import decimal
from . import forms as knb_forms

NAME = "knb"
_SHARES: Mapping[str, str] = {
    "total": "CPU time of the node, all",
    "user": "CPU time of the node, user",
    "nice": "CPU time of the node, niced",
    "system": "CPU time of the node, system",
    "iowait": "CPU time of the node, waiting for I/O",
    "steal": "CPU time of the node, stolen",
}
METRICS: Sequence[Metric] = (
    Metric(
        name="throughput",
        title="Throughput",
        unit="bit/s",
        direction=Direction.HIGHER,
        limits=("network.throughput",),
    ),
    *(
        Metric(
            name=f"cpu.{name}",
            title=title,
            unit="ratio",
            direction=Direction.LOWER,
            statistic=Statistic.ARITHMETIC_MEAN,
        )
        for name, title in _SHARES.items()
    ),
    Metric(
        name="memory.used", title="Memory in use on the node", unit="B", direction=Direction.LOWER
    ),
    Metric(name="mtu", title="MTU in the pods", unit="B", direction=Direction.NEITHER),
)
_PATHS = {"pod2pod": TrafficPath.POD_TO_POD, "pod2svc": TrafficPath.POD_TO_SERVICE}
_NODES = (Role.CLIENT, Role.SERVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One of knb's tests; ``path`` and ``protocol`` are "" for the idle one. ``throughput`` in
    bit/s, None: iperf3 failed.

    ``usage`` is what each role's node did meanwhile, by metric, in base units.
    """

    path: str
    protocol: str
    throughput: float | None
    usage: Mapping[Role, Mapping[str, float]]

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.path} {self.protocol}" if self.path else "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run of knb: ``about`` is its metadata and what it found out (kernel, k8s-version, cpu),
    as text by knb's own keys; ``mtu`` in B.
    """

    about: Mapping[str, str] = field(default_factory=dict)
    mtu: float | None
    tests: tuple[Test, ...]


def parse(data: bytes) -> Sequence[Measurement]:
    """Measurements of all tests, labelled with path and protocol, and those of nodes with the role.

    A test whose iperf3 failed has none: what its nodes did meanwhile is not about that traffic.

    Raises:
        ParseError: this is no result of knb, or no test of it measured anything; the message says
            where.
    """
    report = read(data)
    found = [measurement for test in report.tests for measurement in _of_test(test)]
    if not found:
        failed = ", ".join(test.name for test in report.tests) or "nothing"
        raise ParseError(f"knb measured nothing: it has {failed}, without a bandwidth")
    return (*measurements(METRICS, {"mtu": report.mtu}), *found)


def _of_test(test: Test) -> Iterator[Measurement]:
    if test.path and test.throughput is None:
        return
    labels = {"path": test.path, "protocol": test.protocol} if test.path else {"test": "idle"}
    yield from measurements(METRICS, {"throughput": test.throughput}, labels)
    for role, values in test.usage.items():
        yield from measurements(METRICS, values, {**labels, "role": role})


def read(data: bytes) -> Report:
    """A run of knb in any of its forms: ``-o json``, ``-o data`` (.knbdata), ``-o yaml`` or ``-o
    text``.

    Raises:
        ParseError: it is none of them, is cut, or has a figure that is none; the message says
            where.
    """
    document = knb_forms.read(data)
    about, found = child(document, "metadata"), child(document, "data")
    if about.get("generator") != NAME:
        raise ParseError(
            f"found generator {about.get('generator')!r}, expected 'knb'",
            remedy="give it a file that `knb -o json -f FILE` wrote",
        )
    tests = [_test("", "", child(found, "idle"))] if "idle" in found else []
    for key, path in _PATHS.items():
        tests += [
            _test(path, protocol, as_mapping(block))
            for protocol, block in as_mapping(found.get(key)).items()
        ]
    if not tests:
        raise ParseError("the knb output has no tests", remedy="the run was probably stopped")
    said = {
        key: value.strip()
        for key, value in {**about, **found}.items()
        if isinstance(value, str) and value.strip()
    }
    return Report(about=said, mtu=_mtu(str(found.get("mtu") or "")), tests=tuple(tests))


def _mtu(said: str) -> float | None:
    """knb quotes the figure: one for every interface of the pod, which is one MTU only where they
    are alike. Raises ParseError for what is no figure.
    """
    numbers = [decimal(word) for word in said.split()]
    known = [number for number in numbers if number is not None and number > 0]
    if len(known) < len(numbers):
        raise ParseError(f"data.mtu: found {said!r}, expected a number of bytes")
    return known[0] if len(set(known)) == 1 else None


def _test(path: str, protocol: str, block: Mapping[str, Json]) -> Test:
    megabits = figure(block, "bandwidth")
    usage = {role: values for role in _NODES if (values := _usage(child(block, role)))}
    return Test(
        path=path,
        protocol=protocol,
        throughput=megabits * 1e6 if path and megabits else None,
        usage=usage,
    )


def _usage(node: Mapping[str, Json]) -> dict[str, float]:
    """Raises ParseError for shares that cannot be; a sum of rounded ones may be a little more than
    the whole.
    """
    shares, used = child(node, "cpu"), figure(node, "ram")
    found = {
        f"cpu.{name}": percent / 100
        for name in _SHARES
        if (percent := figure(shares, name)) is not None
    }
    for name, share in found.items():
        if share > 1.01:
            raise ParseError(f"found {name} of {share:.2%}, expected at most 100 %")
    return {**found, "memory.used": used * 2**20} if used else found
