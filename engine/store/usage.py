"""What a host was busy with during a trial: from the texts of /proc to ratios. Pure; every runner's
monitor feeds it.

A monitor takes the texts at the start, each interval and at the end (:class:`Texts`);
:func:`sample` reads one set, :func:`summarise` a series. Formats: proc(5); /proc/stat counts in
ticks since boot (``guest`` is contained in ``user``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..model.contract.values import Sample

_CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_BUSY = ("user", "nice", "system", "irq", "softirq")
_KIB = 1024.0
OOM_KILLS = "host.oom_kills"
"""How many processes the kernel has ended for want of memory, in a sample's values."""
_OOM_LINE = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
_MEMINFO_LINE = re.compile(r"^(\S+):[ \t]+(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What a monitor read at one moment, ``elapsed_s`` after it started. ``route``
    (/proc/net/route) tells which interface counts; of ``vmstat`` (/proc/vmstat) the line
    ``oom_kill`` alone is read.
    """

    elapsed_s: float
    stat: str
    meminfo: str
    loadavg: str
    net_dev: str
    route: str = ""
    vmstat: str = ""


def parse_stat(text: str) -> Mapping[int | None, Mapping[str, float]]:
    """Ticks per CPU (None: all together) and state, from /proc/stat. Lines it does not know are
    left out.
    """
    cpus: dict[int | None, Mapping[str, float]] = {}
    for line in text.splitlines():
        name, *ticks = line.split() or [""]
        if (
            name.startswith("cpu")
            and len(ticks) >= len(_CPU_FIELDS)
            and (name[3:].isdigit() or name == "cpu")
        ):
            values = map(float, ticks[: len(_CPU_FIELDS)])
            cpus[int(name[3:]) if name != "cpu" else None] = dict(
                zip(_CPU_FIELDS, values, strict=True)
            )
    return cpus


def parse_meminfo(text: str) -> Mapping[str, float]:
    """Sizes in B by name, from /proc/meminfo."""
    return {name: float(size) * _KIB for name, size in _MEMINFO_LINE.findall(text)}


def parse_loadavg(text: str) -> float | None:
    """The load of the last minute, from /proc/loadavg."""
    fields = text.split()
    return float(fields[0]) if fields else None


def parse_net_dev(text: str) -> Mapping[str, tuple[float, float]]:
    """Bytes received and sent per interface, from /proc/net/dev."""
    rows = (line.partition(":") for line in text.splitlines())
    fields = ((name.strip(), rest.split()) for name, colon, rest in rows if colon)
    return {name: (float(rest[0]), float(rest[8])) for name, rest in fields if len(rest) >= 16}


def default_interface(text: str) -> str | None:
    """The interface of the default route, from /proc/net/route (destination and mask are zero)."""
    rows = (line.split() for line in text.splitlines())
    return next((row[0] for row in rows if len(row) >= 8 and row[1] == row[7] == "00000000"), None)


def sample(texts: Texts, cpus: Collection[int] = ()) -> Sample:
    """One monitor sample: cumulative ``cpu.STATE`` in ticks (of ``cpus``, or all),
    ``host.cpu.STATE`` (all), ``net.rx``, ``net.tx`` in B since boot, ``host.oom_kills``; instant
    ``memory.used`` in B and ``load.1m``. What a text does not say is absent.

    The network counts are those of the default route's interface, or of all but the loopback where
    there is none.
    """
    stat, memory, load = (
        parse_stat(texts.stat),
        parse_meminfo(texts.meminfo),
        parse_loadavg(texts.loadavg),
    )
    values = {f"host.cpu.{state}": ticks for state, ticks in stat.get(None, {}).items()}
    chosen = [stat[cpu] for cpu in cpus if cpu in stat] if cpus else [stat.get(None, {})]
    for state in _CPU_FIELDS:
        if chosen and all(state in one for one in chosen):
            values[f"cpu.{state}"] = sum(one[state] for one in chosen)
    if "MemTotal" in memory and "MemAvailable" in memory:
        values["memory.used"] = memory["MemTotal"] - memory["MemAvailable"]
    if load is not None:
        values["load.1m"] = load
    if (kills := _OOM_LINE.search(texts.vmstat)) is not None:
        values[OOM_KILLS] = float(kills[1])
    return Sample(elapsed_s=texts.elapsed_s, values=values | _network(texts))


def _network(texts: Texts) -> dict[str, float]:
    interfaces, default = parse_net_dev(texts.net_dev), default_interface(texts.route)
    counted = [default] if default in interfaces else [name for name in interfaces if name != "lo"]
    if not counted:
        return {}
    return {
        "net.rx": sum(interfaces[name][0] for name in counted if name),
        "net.tx": sum(interfaces[name][1] for name in counted if name),
    }


def oom_kills(samples: Sequence[Sample]) -> float | None:
    """How many processes the kernel ended for want of memory between the first and the last sample;
    None when nobody saw.
    """
    seen = [one.values[OOM_KILLS] for one in samples if OOM_KILLS in one.values]
    return seen[-1] - seen[0] if len(seen) > 1 else None


def cpu_ticks(samples: Sequence[Sample]) -> float | None:
    """Of how many ticks of the CPUs' time the ratios of :func:`summarise` are; None: not
    measured.
    """
    names = [f"cpu.{state}" for state in _CPU_FIELDS]
    if len(samples) < 2 or not all(
        name in one.values for name in names for one in (samples[0], samples[-1])
    ):
        return None
    first, last = samples[0].values, samples[-1].values
    return sum(max(0.0, last[name] - first[name]) for name in names)


def summarise(samples: Sequence[Sample]) -> Mapping[str, float]:
    """The usage over a trial, from its first and last sample: ``cpu.user`` (with nice),
    ``.system``, ``.softirq``, ``.steal``, ``.iowait``, ``.busy`` as ratios of the CPUs' time, the
    same as ``host.cpu.*`` for all CPUs of the host; ``net.rx``, ``net.tx`` in B/s; the highest
    ``memory.used`` (B) and ``load.1m``; of containers that were looked at ``container.NAME.cpu``
    (CPU time in s) and the highest ``container.NAME.memory`` (B), or ``container.NAME.unseen`` (1)
    where it is known that one is not known; NAME is a container beside the role, or
    ``KIND/WORKLOAD/CONTAINER``. Busy is everything but idle, waiting for a disk, and stolen. Empty
    with fewer than two samples.
    """
    if len(samples) < 2:
        return {}
    first, last = samples[0], samples[-1]
    usage = _cpu_ratios("cpu", first.values, last.values) | _cpu_ratios(
        "host.cpu", first.values, last.values
    )
    duration_s = last.elapsed_s - first.elapsed_s
    for name in ("net.rx", "net.tx"):
        if name in first.values and name in last.values and duration_s > 0:
            usage[name] = (last.values[name] - first.values[name]) / duration_s
    for name in ("memory.used", "load.1m"):
        if seen := [one.values[name] for one in samples if name in one.values]:
            usage[name] = max(seen)
    return usage | _containers(first.values, last.values)


def _containers(first: Mapping[str, float], last: Mapping[str, float]) -> dict[str, float]:
    """A counter that is missing on one side, or went back since the container was started anew,
    says nothing.
    """
    found: dict[str, float] = {}
    for name in (name for name in last if name.startswith("container.") and name in first):
        if name.endswith(".memory"):
            found[name] = max(first[name], last[name])
        elif last[name] >= first[name]:
            found[name] = last[name] - first[name]
    return found


def _cpu_ratios(
    prefix: str, first: Mapping[str, float], last: Mapping[str, float]
) -> dict[str, float]:
    names = [f"{prefix}.{state}" for state in _CPU_FIELDS]
    if not all(name in first and name in last for name in names):
        return {}
    # the kernel's idle and iowait counters may step back a little (proc(5)): never below zero
    ticks = {
        state: max(0.0, last[name] - first[name])
        for state, name in zip(_CPU_FIELDS, names, strict=True)
    }
    total = sum(ticks.values())
    if total == 0:  # shorter than a tick: not measured
        return {}
    shares = {state: ticks[state] / total for state in ("system", "softirq", "steal", "iowait")}
    shares["user"] = (ticks["user"] + ticks["nice"]) / total
    shares["busy"] = sum(ticks[state] for state in _BUSY) / total
    return {f"{prefix}.{state}": share for state, share in shares.items()}
