from __future__ import annotations

import pytest

from benchspec.engine.model.contract.values import Sample
from benchspec.engine.store import usage

STAT = """cpu  {user} 10 {system} {idle} {iowait} 4 {softirq} {steal} 77 0
cpu0 100 0 0 {idle0} 0 0 0 0 0 0
cpu1 0 0 0 500 0 0 0 0 0 0
cpux 1 2 3
intr 12345 1 2 3
"""
MEMINFO = (
    "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    {available}"
    " kB\nHugePages_Total:       0\n"
)
NET = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  9999       1    0    0    0     0          0         0     9999       1    0    0    0     0       0          0
  eth0:{rx} 5691 0 0 0 0 0 0 {tx} 3146 0 0 0 0 0 0
 veth1: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0
"""
ROUTE = """Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
"""


def texts(
    elapsed_s: float,
    *,
    user: int = 0,
    steal: int = 0,
    idle0: int = 0,
    rx: int = 0,
    available: int = 500,
    load: str = "0.5",
    route: str = ROUTE,
) -> usage.Texts:
    stat = STAT.format(
        user=user, system=20, idle=1000, iowait=5, softirq=3, steal=steal, idle0=idle0
    )
    return usage.Texts(
        elapsed_s=elapsed_s,
        stat=stat,
        meminfo=MEMINFO.format(available=available),
        loadavg=f"{load} 0.1 0.1 1/1 1\n",
        net_dev=NET.format(rx=rx, tx=2 * rx),
        route=route,
    )


def test_ratios_are_of_the_time_between_first_and_last_sample() -> None:
    last = texts(2.0, user=75, steal=25, rx=3000, available=200, load="2.5")
    summary = usage.summarise(
        [usage.sample(texts(0.0)), usage.sample(texts(1.0, user=500)), usage.sample(last)]
    )
    assert summary == {
        "cpu.user": 0.75,
        "cpu.system": 0.0,
        "cpu.softirq": 0.0,
        "cpu.steal": 0.25,
        "cpu.iowait": 0.0,
        "cpu.busy": 0.75,
        "host.cpu.user": 0.75,
        "host.cpu.system": 0.0,
        "host.cpu.softirq": 0.0,
        "host.cpu.steal": 0.25,
        "host.cpu.iowait": 0.0,
        "host.cpu.busy": 0.75,
        "net.rx": 1500.0,
        "net.tx": 3000.0,
        "memory.used": 800 * 1024.0,
        "load.1m": 2.5,
    }


def test_pinned_cpus_count_alone() -> None:
    summary = usage.summarise(
        [usage.sample(texts(0.0), {0}), usage.sample(texts(1.0, user=100, idle0=100), {0})]
    )
    assert summary["cpu.busy"] == 0.0
    assert summary["host.cpu.busy"] == 1.0


def test_without_a_default_route_all_but_the_loopback_count() -> None:
    values = usage.sample(texts(0.0, rx=100, route="")).values
    assert (values["net.rx"], values["net.tx"]) == (105.0, 207.0)


def test_counters_that_step_back_never_make_a_negative_share() -> None:
    summary = usage.summarise(
        [usage.sample(texts(0.0, steal=10)), usage.sample(texts(1.0, user=100, steal=8))]
    )
    assert summary["cpu.steal"] == 0.0
    assert summary["cpu.user"] == 1.0


def test_what_was_not_measured_is_absent() -> None:
    empty = usage.Texts(elapsed_s=0.0, stat="", meminfo="", loadavg="", net_dev="")
    assert usage.sample(empty).values == {}
    assert usage.sample(texts(0.0), {7}).values.get("cpu.user") is None
    assert usage.summarise([usage.sample(empty), usage.sample(empty)]) == {}
    assert usage.summarise([usage.sample(texts(0.0))]) == {}
    assert usage.summarise([]) == {}


def test_a_trial_shorter_than_a_tick_has_no_ratios_but_the_rest() -> None:
    summary = usage.summarise([usage.sample(texts(0.0)), usage.sample(texts(0.001))])
    assert "cpu.user" not in summary
    assert summary["memory.used"] == 500 * 1024.0
    assert "net.rx" not in usage.summarise(
        [
            Sample(elapsed_s=1.0, values={"net.rx": 1.0}),
            Sample(elapsed_s=1.0, values={"net.rx": 2.0}),
        ]
    )


def test_texts_of_other_kernels() -> None:
    assert usage.parse_loadavg("") is None
    assert usage.parse_meminfo("MemTotal: 5 kB\nstrange\n") == {"MemTotal": 5120.0}
    assert usage.parse_net_dev("eth0: 1 2 3") == {}
    assert usage.default_interface("") is None
    assert usage.parse_stat("cpu 1 2\n\ncpu0 1 2 3 4 5 6 7 8")[0]["steal"] == pytest.approx(8.0)
