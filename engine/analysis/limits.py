"""Results held against documented limits: what is attainable, and whether a result is limited by it
rather than by the software.

Below 0.98 of the attainable sustained rate a result is free. From there to 1.05 of it, and from
0.94 to 1.05 of the attainable burst rate, it is limit-bound; between the two it ran on burst credit
and no limit explains it. Above 1.05 of the attainable burst rate it exceeds what is documented, or,
while it lies within that, shows that what was held attainable was not. It is judged over the
sessions: where their interval spans a border, or they scatter by more than the bands are wide,
nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.errors import UnitError
from ..model.results import Metric
from ..model.spec import HOST_PATHS, Experiment, Json, Layer, Limit, Target
from ..model.units import Dimension, parse_quantity
from .efficiency import DEFAULT_MTU, ENCAPSULATION, link_efficiency
from .evidence import Evidence
from .model import LimitCheck, LimitState, Summary

FREE_BELOW = 0.98
BURST_FROM = 0.94
EXCEEDS_ABOVE = 1.05
TOO_NOISY = 0.10
"""Sessions that vary by more than this (CoV) lie inside and outside of the bands by chance."""
ASSUMED = "assumed"
BOUND_STATES = frozenset({LimitState.BOUND, LimitState.CREDIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What is known of the way an experiment's traffic takes, and how it is known; ``assumed``: the
    MTU was neither observed nor declared.
    """

    mtu: float = DEFAULT_MTU
    protocol: str = "tcp"
    family: str = "ipv4"
    encapsulations: tuple[str, ...] = ()
    datagram: float | None = None
    basis: str = f"MTU {DEFAULT_MTU} assumed"
    assumed: bool = True


def limit_state(value: float, attainable_sustained: float, attainable_burst: float) -> LimitState:
    """Where ``value`` lies; all three in one unit."""
    if value < FREE_BELOW * attainable_sustained:
        return LimitState.FREE
    if value <= EXCEEDS_ABOVE * attainable_sustained:
        return LimitState.BOUND
    if value > EXCEEDS_ABOVE * attainable_burst:
        return LimitState.EXCEEDS
    return LimitState.CREDIT if value >= BURST_FROM * attainable_burst else LimitState.ON_CREDIT


def check_limit(
    value: float,
    metric: Metric,
    limit: Limit,
    link: Link | None = None,
    summary: Summary | None = None,
) -> LimitCheck:
    """Hold ``value`` (the centre of a series of ``metric``) against ``limit``; ``link`` matters to
    network throughput alone. ``summary`` are the sessions that ``value`` comes from; a figure that
    somebody published has none, and is judged as it stands.

    Raises:
        UnitError: the limit is in another unit than the metric.
    """
    if limit.unit != metric.unit:
        raise UnitError(
            f"limit {limit.metric}: found {limit.unit}, expected {metric.unit}, the unit of metric"
            f" {metric.name}"
        )
    link = link or Link()
    efficiency, basis = _efficiency(limit, link)
    sustained, burst = limit.sustained * efficiency, limit.burst * efficiency
    return LimitCheck(
        limit=limit,
        efficiency=efficiency,
        efficiency_basis=basis,
        attainable_sustained=sustained,
        attainable_burst=burst,
        share_of_documented=value / limit.sustained,
        share_of_attainable=value / sustained,
        state=_over_sessions(value, summary, sustained, burst, limit.burst),
        assumed=link.assumed and efficiency != 1,
    )


def check_limits(
    value: float,
    metric: Metric,
    limits: Sequence[Limit],
    link: Link,
    summary: Summary | None = None,
) -> tuple[LimitCheck, ...]:
    """Hold ``value`` against every limit of the target that bounds ``metric``; ``summary`` as in
    :func:`check_limit`.

    Of the limits on one thing (``applies_to``) the most specific class counts:
    ``storage.iops.read`` before ``storage.iops``.
    """
    return tuple(
        check_limit(value, metric, limit, link, summary) for limit in _applicable(metric, limits)
    )


def limits_of(target: Target, experiment: Experiment) -> tuple[Limit, ...]:
    """The limits of ``target`` that hold at the experiment's point."""
    return tuple(limit for limit in target.limits if set(limit.where) <= set(experiment.point))


def is_bound(checks: Sequence[LimitCheck]) -> bool:
    """Whether some documented limit, not the software, explains the result."""
    return binding(checks) is not None


def binding(checks: Sequence[LimitCheck]) -> LimitCheck | None:
    """The limit that explains the result, the first of several; None where none does."""
    return next((check for check in checks if _binds(check)), None)


def _binds(check: LimitCheck) -> bool:
    """What lies above the attainable rate and at the documented one fills the link, whatever its
    headers take.
    """
    if check.state is LimitState.ABOVE_ATTAINABLE:
        return check.share_of_documented * check.limit.sustained >= BURST_FROM * check.limit.burst
    return check.state in BOUND_STATES


def _over_sessions(
    value: float, summary: Summary | None, sustained: float, burst: float, documented: float
) -> LimitState:
    """The state of ``value``, unless its sessions leave open which one it is."""

    def state(x: float) -> LimitState:
        found = limit_state(x, sustained, burst)
        within = found is LimitState.EXCEEDS and x <= EXCEEDS_ABOVE * documented
        return LimitState.ABOVE_ATTAINABLE if within and burst != documented else found

    centre = state(value)
    if summary is None or len({centre, *map(state, summary.values)}) == 1:
        return centre
    if summary.cov is not None and summary.cov > TOO_NOISY:
        return LimitState.UNDECIDED
    ends = (summary.interval.low, summary.interval.high) if summary.interval else ()
    return LimitState.UNDECIDED if any(state(end) is not centre for end in ends) else centre


def link_of(experiment: Experiment, target: Target, evidence: Evidence) -> Link:
    """The link of ``experiment`` from observed facts, else from claims, else assumed; its ``basis``
    says which.
    """
    protocol = "udp" if _sends_datagrams(experiment) else "tcp"
    family = "ipv6" if _parameter(experiment, "family") == "ipv6" else "ipv4"
    mtu, mtu_source = _mtu(experiment, target, evidence)
    encapsulations, notes = _encapsulations(experiment, target, evidence)
    basis = ", ".join(
        [protocol.upper() + " over IPv6" * (family == "ipv6"), f"MTU {mtu:g} {mtu_source}", *notes]
    )
    return Link(
        mtu=mtu,
        protocol=protocol,
        family=family,
        encapsulations=encapsulations,
        datagram=_datagram(experiment),
        basis=basis,
        assumed=mtu_source == ASSUMED,
    )


def _applicable(metric: Metric, limits: Sequence[Limit]) -> Iterator[Limit]:
    taken: dict[str | None, str] = {}
    for name in metric.limits:
        for limit in limits:
            if limit.metric == name and taken.setdefault(limit.applies_to, name) == name:
                yield limit


def _efficiency(limit: Limit, link: Link) -> tuple[float, str]:
    if not limit.metric.startswith("network.throughput"):
        return 1.0, "counted as the tool counts"
    if limit.layer is Layer.GOODPUT:
        return 1.0, "the limit is documented as goodput"
    share = link_efficiency(
        limit.layer, link.mtu, link.protocol, link.encapsulations, link.datagram, link.family
    )
    return share, f"{100 * share:.2f} % of {limit.layer.value} rate: {link.basis}"


def _mtu(experiment: Experiment, target: Target, evidence: Evidence) -> tuple[float, str]:
    ways = (
        (evidence.on_path(experiment, "path.mtu"), "measured along the path"),
        (evidence.on_path(experiment, "path.link_mtu"), "observed"),
        (evidence.observed(target.name, "net.mtu"), "observed"),
        ((target.claims.get("net.mtu"),), "declared"),
    )
    for values, source in ways:
        known = [float(v) for v in values if isinstance(v, int | float) and v > 0]
        if known:
            return min(known), source
    return float(DEFAULT_MTU), ASSUMED


def _encapsulations(
    experiment: Experiment, target: Target, evidence: Evidence
) -> tuple[tuple[str, ...], list[str]]:
    """Names of encapsulations on the path, and notes for the basis.

    The interface that the traffic was seen to take tells, where it is a tunnel of the kernel's
    (``path.kind``). What is in a tun only the CNI says. Traffic between hosts bypasses a CNI,
    unless it was seen to take a tunnel.
    """
    kinds = [str(kind) for kind in evidence.on_path(experiment, "path.kind")]
    known = [kind for kind in kinds if kind in ENCAPSULATION]
    notes = [f"{kind} observed" for kind in known]
    if "tun" in kinds or (experiment.path is not None and experiment.path not in HOST_PATHS):
        for fact in ("cni.mode", "cni.encryption"):
            value, source = _fact(fact, target, evidence)
            if value in ENCAPSULATION and value not in known:
                known.append(value)
                notes.append(f"{value} {source}")
            elif value in ("ipsec", "other"):
                notes.append(f"{value} not counted")
    if "tun" in kinds and not known:
        notes.append("through a tun whose headers are not counted")
    return tuple(known), notes


def _fact(name: str, target: Target, evidence: Evidence) -> tuple[str, str]:
    observed = [v for v in evidence.observed(target.name, name) if isinstance(v, str)]
    if observed:
        return observed[0].lower(), "observed"
    return str(target.claims.get(name, "")).lower(), "declared"


def _parameter(experiment: Experiment, name: str) -> Json:
    return experiment.parameters.get(name)


def _sends_datagrams(experiment: Experiment) -> bool:
    """By the parameters of the tools that know both: ``protocol: udp``, or one of netperf's UDP
    tests.
    """
    return _parameter(experiment, "protocol") == "udp" or str(
        _parameter(experiment, "test")
    ).startswith("UDP_")


def _datagram(experiment: Experiment) -> float | None:
    """The payload of one datagram, where the workload's parameters set it (``length``,
    ``message_size``).
    """
    length = _parameter(experiment, "length") or _parameter(experiment, "message_size")
    return parse_quantity(length, Dimension.BYTES) if isinstance(length, str) else None
