"""Limit-bound or free: the formulas against measured links, the rule against published results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchspec.engine.analysis.efficiency import link_efficiency
from benchspec.engine.analysis.evidence import Evidence
from benchspec.engine.analysis.limits import (
    Link,
    check_limit,
    check_limits,
    is_bound,
    limit_state,
    limits_of,
    link_of,
)
from benchspec.engine.analysis.model import LimitState
from benchspec.engine.model.errors import UnitError
from benchspec.engine.model.results import Direction, Fact, FactSet, Metric
from benchspec.engine.model.spec import Json, Layer, Limit, TrafficPath
from tests.engine.analysis import synthetic
from tests.engine.analysis.synthetic import RATE, THROUGHPUT

FREE, BOUND, CREDIT, ON_CREDIT, EXCEEDS = (
    LimitState.FREE,
    LimitState.BOUND,
    LimitState.CREDIT,
    LimitState.ON_CREDIT,
    LimitState.EXCEEDS,
)


def _limit(
    sustained: float,
    burst: float | None = None,
    metric: str = "storage.iops",
    unit: str = "1/s",
    layer: Layer = Layer.GOODPUT,
    on: str | None = "disk",
) -> Limit:
    return Limit(
        metric=metric,
        sustained=sustained,
        burst=sustained if burst is None else burst,
        unit=unit,
        layer=layer,
        applies_to=on,
        source="https://example.org/limits",
        as_of="2023-03-20",
    )


def _network(bit_per_s: float, layer: Layer = Layer.WIRE) -> Limit:
    return _limit(bit_per_s, metric="network.throughput", unit="bit/s", layer=layer, on=None)


@pytest.mark.parametrize(
    ("layer", "mtu", "protocol", "encapsulations", "percent"),
    [
        (Layer.WIRE, 1500, "tcp", (), 94.1),
        (Layer.WIRE, 1450, "tcp", (), 93.95),
        (Layer.L2, 1500, "tcp", (), 95.6),
        (Layer.L2, 1450, "tcp", ("vxlan",), 92.3),
        (Layer.L2, 1420, "tcp", ("wireguard",), 91.6),
        (Layer.WIRE, 1500, "udp", (), 95.7),
        (Layer.WIRE, 8896, "tcp", (), 99.0),
        (Layer.GOODPUT, 1500, "tcp", (), 100.0),
    ],
)
def test_efficiency_of_a_full_link(
    layer: Layer, mtu: int, protocol: str, encapsulations: tuple[str, ...], percent: float
) -> None:
    assert 100 * link_efficiency(layer, mtu, protocol, encapsulations) == pytest.approx(
        percent, abs=0.05
    )


def test_datagrams_smaller_and_larger_than_a_packet() -> None:
    assert link_efficiency(Layer.L2, 1500, "udp", (), 1448) == pytest.approx(
        1448 / (1448 + 28 + 14)
    )
    assert link_efficiency(Layer.L2, 1500, "udp", (), 1472) == link_efficiency(
        Layer.L2, 1500, "udp"
    )
    assert link_efficiency(Layer.L2, 1500, "udp", (), 8192) == pytest.approx(8192 / (8200 + 6 * 34))
    assert link_efficiency(Layer.L2, 1500, "udp", (), 8192, "ipv6") == pytest.approx(
        8192 / (8200 + 6 * (48 + 14))
    )
    assert link_efficiency(Layer.L2, 1500, "tcp", (), None, "ipv6") == pytest.approx(1428 / 1514)


@pytest.mark.parametrize(
    ("value", "sustained", "burst", "state"),
    [
        (508.15, 500, 500, BOUND),  # the encrypted Azure disks' 102 %
        (5099.80, 5000, 5000, BOUND),
        (494.24, 500, 500, BOUND),
        (70.15, 100, 100, FREE),
        (588, 500, 600, CREDIT),
        (566, 500, 600, CREDIT),
        (145 * 1.048576, 60, 150, CREDIT),
        (526, 500, 600, ON_CREDIT),
        (563, 500, 600, ON_CREDIT),
        (564, 500, 600, CREDIT),
        (5300, 500, 20_000, ON_CREDIT),
        (9000, 500, 20_000, ON_CREDIT),
        (5344, 2400, 2400, EXCEEDS),
        (5949, 2400, 2400, EXCEEDS),
        (489.99, 500, 500, FREE),
        (490, 500, 500, BOUND),
        (525, 500, 500, BOUND),
        (525.01, 500, 500, EXCEEDS),
        (630, 500, 600, CREDIT),
        (630.01, 500, 600, EXCEEDS),
    ],
)
def test_published_results_and_the_edges_of_the_rule(
    value: float, sustained: float, burst: float, state: LimitState
) -> None:
    assert limit_state(value, sustained, burst) is state
    assert check_limit(value, RATE, _limit(sustained, burst)).state is state


@pytest.mark.parametrize(
    ("value", "documented", "mtu", "state"),
    [
        (9406e6, 1e10, 1450, BOUND),
        (1157e6, 1.25e9, 1500, BOUND),
        (1034e6, 1.25e9, 1500, FREE),
        (20450e6, 1.25e10, 1500, EXCEEDS),
    ],
)
def test_published_network_results(
    value: float, documented: float, mtu: float, state: LimitState
) -> None:
    found = check_limit(value, THROUGHPUT, _network(documented), Link(mtu=mtu, basis=f"MTU {mtu}"))
    assert found.state is state
    assert found.share_of_documented == pytest.approx(value / documented)
    assert found.attainable_sustained == pytest.approx(documented * found.efficiency)
    assert f"MTU {mtu}" in found.efficiency_basis


def test_a_limit_in_another_unit_is_refused() -> None:
    with pytest.raises(UnitError, match="found B/s, expected 1/s"):
        check_limit(1.0, RATE, _limit(1.0, unit="B/s"))


def test_the_most_specific_limit_of_one_thing_counts() -> None:
    limits = [
        _limit(500),
        _limit(300, metric="storage.iops.read"),
        _limit(6400, on="machine"),
        _limit(9, metric="storage.iops.write"),
    ]
    found = check_limits(300.0, RATE, limits, Link())
    assert [(c.limit.sustained, c.state) for c in found] == [(300, BOUND), (6400, FREE)]
    assert is_bound(found)
    assert not is_bound(found[1:])
    unlimited = Metric(name="rate", title="Rate", unit="1/s", direction=Direction.HIGHER)
    assert check_limits(300.0, unlimited, limits, Link()) == ()


def _link(
    facts: dict[str, Json],
    claims: dict[str, Json] | None = None,
    parameters: dict[str, Json] | None = None,
    path: TrafficPath | None = TrafficPath.POD_TO_POD,
) -> Link:
    sets = [
        FactSet(
            target="a",
            site="s",
            when="before",
            observed_at=0.0,
            facts=tuple(Fact(name=k, value=v, source="t") for k, v in facts.items()),
        )
    ]
    experiment = (
        synthetic.experiment("a", path=path, parameters=parameters or {})
        if path
        else synthetic.experiment("a", parameters=parameters or {})
    )
    return link_of(experiment, synthetic.target("a", claims=claims), Evidence(sets))


def test_the_observed_mtu_wins_over_the_declared_one() -> None:
    assert _link({"net.mtu": 1400}, {"net.mtu": 1500}).basis == "TCP, MTU 1400 observed"
    assert _link({"net.mtu": None}, {"net.mtu": 1500}).basis == "TCP, MTU 1500 declared"
    assert _link({}).basis == "TCP, MTU 1500 assumed"


def test_encapsulation_counts_on_pod_paths_only() -> None:
    facts: dict[str, Json] = {"net.mtu": 1370, "cni.mode": "vxlan", "cni.encryption": "wireguard"}
    assert _link(facts).encapsulations == ("vxlan", "wireguard")
    assert _link(facts).basis == "TCP, MTU 1370 observed, vxlan observed, wireguard observed"
    assert _link(facts, path=TrafficPath.HOST_TO_HOST).encapsulations == ()
    assert _link(facts, path=None).encapsulations == ()
    assert (
        _link({}, {"cni.mode": "native", "cni.encryption": "ipsec"}).basis
        == "TCP, MTU 1500 assumed, ipsec not counted"
    )


def _seen_on_the_path(path: TrafficPath, claims: dict[str, Json], **facts: Json) -> Link:
    """The link of an experiment that shares its path with the one whose allocation showed it,
    beside one on another path.
    """
    experiment, alike = (
        replace(synthetic.experiment("a", path=path), id=id_) for id_ in ("0123", "4567")
    )
    elsewhere = replace(synthetic.experiment("a", path=TrafficPath.LOOPBACK), id="89ab")
    others: dict[str, Json] = {"mtu": 900, "kind": "geneve"}
    sets = [
        FactSet(
            target="a",
            site="s",
            when="allocated",
            observed_at=0.0,
            facts=tuple(
                Fact(name=f"path.{name}", value=value, source="t") for name, value in values.items()
            ),
            allocation_id=f"run-s001-{shown.short_id}-a1",
        )
        for shown, values in ((alike, facts), (elsewhere, others))
    ]
    return link_of(
        experiment,
        synthetic.target("a", claims=claims),
        Evidence(sets, [experiment, alike, elsewhere]),
    )


def test_the_path_that_the_traffic_was_seen_to_take_counts() -> None:
    link = _seen_on_the_path(
        TrafficPath.HOST_TO_HOST, {"net.mtu": 1500}, mtu=1450, link_mtu=1450, kind="vxlan"
    )
    assert (link.mtu, link.encapsulations) == (1450, ("vxlan",))
    assert link.basis == "TCP, MTU 1450 measured along the path, vxlan observed"
    link = _seen_on_the_path(
        TrafficPath.HOST_TO_HOST, {"cni.encryption": "wireguard"}, link_mtu=1420, kind="tun"
    )
    assert link.basis == "TCP, MTU 1420 observed, wireguard declared"
    link = _seen_on_the_path(
        TrafficPath.HOST_TO_HOST, {"cni.encryption": "wireguard"}, mtu=1500, kind="device"
    )
    assert link.encapsulations == ()
    link = _seen_on_the_path(TrafficPath.HOST_TO_HOST, {}, mtu=1400, kind="tun")
    assert "not counted" in link.basis
    link = _seen_on_the_path(TrafficPath.POD_TO_POD, {"cni.mode": "vxlan"}, mtu=1450, kind="vxlan")
    assert link.encapsulations == ("vxlan",)


def test_udp_and_its_datagrams_come_from_the_parameters() -> None:
    link = _link({}, parameters={"protocol": "udp", "length": "8 KiB"})
    assert (link.protocol, link.datagram) == ("udp", 8192)


def test_a_limit_holds_at_its_points_only() -> None:
    everywhere, here = _limit(1000.0), replace(_limit(500.0), where=(("disk", "P10"),))
    at_p10 = replace(synthetic.experiment("a"), point=(("disk", "P10"), ("streams", "1")))
    of_both = synthetic.target("a", (everywhere, here))
    assert limits_of(of_both, at_p10) == (everywhere, here)
    assert limits_of(of_both, replace(at_p10, point=(("disk", "P20"),))) == (everywhere,)
    assert limits_of(of_both, replace(at_p10, point=())) == (everywhere,)


@pytest.mark.parametrize(
    ("parameters", "protocol", "datagram"),
    [
        ({"protocol": "udp", "length": "1400 B"}, "udp", 1400.0),
        ({"test": "UDP_STREAM", "message_size": "1472 B"}, "udp", 1472.0),
        ({"test": "UDP_STREAM"}, "udp", None),
        ({"test": "TCP_STREAM", "message_size": "16 KiB"}, "tcp", 16384.0),
        ({}, "tcp", None),
    ],
)
def test_what_is_sent_follows_from_the_parameters(
    parameters: dict[str, Json], protocol: str, datagram: float | None
) -> None:
    link = link_of(
        synthetic.experiment("a", parameters=parameters), synthetic.target("a"), Evidence(())
    )
    assert (link.protocol, link.datagram) == (protocol, datagram)


def test_the_address_family_comes_from_the_parameters() -> None:
    link = _link({}, parameters={"family": "ipv6"})
    assert (link.family, link.basis) == ("ipv6", "TCP over IPv6, MTU 1500 assumed")
    assert check_limit(
        1428 / 1514 * 1e9, THROUGHPUT, _network(1e9, Layer.L2), link
    ).share_of_attainable == pytest.approx(1)
