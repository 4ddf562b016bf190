"""iperf3's JSON output (``-J``), versions 3.0 to 3.2x, as measurements. Source of the format:
iperf_api.c and iperf_reporter of each version.

Received and sent are told apart: ``sum_received`` is what arrived. Old versions have only ``sum``
for UDP, whose rate is the sender's while its loss and jitter are the receiver's. Percentages become
ratios, ``jitter_ms`` s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...engine.model.errors import ParseError
from ...engine.model.results import Direction, Measurement, Metric, Statistic
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, child, figure
from ..shared.measurements import measurements


def _metric(
    name: str, title: str, unit: str, direction: Direction, limits: tuple[str, ...] = ()
) -> Metric:
    return Metric(name=name, title=title, unit=unit, direction=direction, limits=limits)


def _additive(name: str, title: str, unit: str) -> Metric:
    """Lower is better, and zero is an ordinary value: arithmetic mean."""
    return Metric(
        name=name,
        title=title,
        unit=unit,
        direction=Direction.LOWER,
        statistic=Statistic.ARITHMETIC_MEAN,
    )


def _cpu_metrics(side: str, process: str) -> tuple[Metric, ...]:
    parts = {"": "CPU time", ".user": "User time", ".system": "System time"}
    return tuple(
        _additive(
            f"cpu.{side}{part}", f"{title} of the {process}'s process, share of one CPU", "ratio"
        )
        for part, title in parts.items()
    )


METRICS: Sequence[Metric] = (
    _metric(
        "throughput", "Received throughput", "bit/s", Direction.HIGHER, ("network.throughput",)
    ),
    _metric(
        "throughput.reverse",
        "Received throughput, server to client (bidir)",
        "bit/s",
        Direction.HIGHER,
        ("network.throughput",),
    ),
    _metric(
        "throughput.sent", "Sent throughput", "bit/s", Direction.NEITHER
    ),  # into socket buffers: no limit of a link bounds it
    _additive("retransmits", "Segments sent again", "1"),
    _additive("retransmit.ratio", "Share of segments that were sent again", "ratio"),
    _additive("jitter", "Jitter (RFC 1889)", "s"),
    _additive("loss.ratio", "Share of datagrams that did not arrive", "ratio"),
    *_cpu_metrics("local", "client"),
    *_cpu_metrics("remote", "server"),
)

GATE_INPUTS: Sequence[Metric] = (
    _metric("achieved.ratio", "Received rate over the rate asked for", "ratio", Direction.HIGHER),
    _metric("duration", "Measured time", "s", Direction.NEITHER),
)
"""Figures for the validity gates, which no page shows as results."""

_REVERSE = "_bidir_reverse"


def read(document: Json) -> tuple[Measurement, ...]:
    """The measurements of one run; the second direction of ``--bidir`` is ``throughput.reverse``,
    its other figures carry ``direction=reverse``.

    Raises:
        ParseError: iperf3 reports an error (3.11 to 3.14 do so with exit code 0), nothing arrived,
            or there is no summary.
    """
    root = as_mapping(document)
    if "error" in root:
        raise ParseError(f"iperf3 failed: {root['error']}")
    end, start = child(root, "end"), child(root, "start")
    if not any(key in end for key in ("sum_received", "sum", "sum_sent")):
        raise ParseError("the iperf3 output has no summary (end), so the run did not finish")
    forward = _direction(end, start, "")
    reverse = _direction(end, start, _REVERSE) if any(key.endswith(_REVERSE) for key in end) else {}
    backwards = {"throughput.reverse": reverse.pop("throughput", None)}
    known = (*METRICS, *GATE_INPUTS)
    return (
        *measurements(
            known, {**forward, **backwards, **_cpu(child(end, "cpu_utilization_percent"))}
        ),
        *measurements(known, reverse, {"direction": "reverse"}),
    )


def _cpu(cpu: Mapping[str, Json]) -> dict[str, float | None]:
    """Both ends: each reports its own process, and the server's figures come back over the control
    connection.
    """
    sides, parts = (
        {"local": "host", "remote": "remote"},
        {"": "total", ".user": "user", ".system": "system"},
    )
    return {
        f"cpu.{side}{part}": _ratio(cpu, f"{said}_{key}")
        for side, said in sides.items()
        for part, key in parts.items()
    }


def _direction(
    end: Mapping[str, Json], start: Mapping[str, Json], suffix: str
) -> dict[str, float | None]:
    """The figures of one direction by metric name; None for what this version or protocol does not
    report.
    """
    udp = (
        child(start, "test_start").get("protocol", "UDP" if f"sum{suffix}" in end else "TCP")
        == "UDP"
    )
    sent, both = child(end, f"sum_sent{suffix}"), child(end, f"sum{suffix}")
    received = child(end, f"sum_received{suffix}")
    arrived = _arrived(received, both)
    source = received or both
    seconds = figure(source, "seconds")
    if not arrived or not seconds:
        raise ParseError(_nothing_arrived(source, suffix))
    figures = {
        "throughput": arrived,
        "throughput.sent": figure(sent or both, "bits_per_second"),
        "achieved.ratio": _achieved(arrived, child(start, "test_start")),
        "duration": seconds,
    }
    return {**figures, **(_udp(source) if udp else _tcp(sent, start))}


def _arrived(received: Mapping[str, Json], both: Mapping[str, Json]) -> float | None:
    """The received rate in bit/s; from a lone ``sum`` as sent rate x received share, exact since
    datagrams are of one length.
    """
    if received:
        return figure(received, "bits_per_second")
    sent, loss = figure(both, "bits_per_second"), _loss(both)
    return None if sent is None or loss is None else sent * (1 - loss)


def _nothing_arrived(source: Mapping[str, Json], suffix: str) -> str:
    way = " from server to client" if suffix else ""
    lost = source.get("lost_packets")
    detail = f" ({lost} of {source.get('packets')} datagrams lost)" if lost is not None else ""
    return f"iperf3 received nothing{way}{detail}"


def _tcp(sent: Mapping[str, Json], start: Mapping[str, Json]) -> dict[str, float | None]:
    """``retransmits`` is a number of segments; their share follows from the bytes sent and the
    segment size of the control connection.
    """
    retransmits, data, segment = (
        figure(sent, "retransmits"),
        figure(sent, "bytes"),
        figure(start, "tcp_mss_default"),
    )
    if retransmits is None:  # -1: the sender's system does not count them
        return {}
    share = retransmits * segment / data if data and segment else None
    return {"retransmits": retransmits, "retransmit.ratio": share}


def _udp(source: Mapping[str, Json]) -> dict[str, float | None]:
    jitter = figure(source, "jitter_ms")
    return {"jitter": None if jitter is None else jitter / 1e3, "loss.ratio": _loss(source)}


def _loss(source: Mapping[str, Json]) -> float | None:
    """Lost share of the datagrams, at most 1 (``-O`` makes iperf3 count more lost than sent); from
    the counts where there is no percentage.
    """
    share, lost, packets = (
        _ratio(source, "lost_percent"),
        figure(source, "lost_packets"),
        figure(source, "packets"),
    )
    if share is None and lost is not None and packets:
        share = lost / packets
    return None if share is None else min(1.0, share)


def _achieved(arrived: float, asked: Mapping[str, Json]) -> float | None:
    """Received over asked rate; ``target_bitrate`` is per stream, 0 means unlimited."""
    target, streams = figure(asked, "target_bitrate"), figure(asked, "num_streams")
    return arrived / (target * streams) if target and streams else None


def _ratio(block: Mapping[str, Json], key: str) -> float | None:
    percent = figure(block, key)
    return None if percent is None else percent / 100
