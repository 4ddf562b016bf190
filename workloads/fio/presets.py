"""Job sets that published benchmarks use, by name, so that a spec can repeat them without copying
them.

``four-corners`` is the job file of Constellation's I/O benchmark (operations and bandwidth, read
and write, one after the other); ``kubestr`` the default of kubestr 0.4.37, whose four jobs run at
the same time and take no latencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...engine.model.spec import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Settings of all jobs, and what each job adds."""

    settings: Mapping[str, Json]
    jobs: Sequence[Mapping[str, Json]]


def _corners(
    operation: str, transfer: str, common: Mapping[str, Json]
) -> tuple[Mapping[str, Json], ...]:
    """Random reads and writes with blocks of ``operation`` for IOPS, and of ``transfer`` for
    bandwidth.
    """
    return tuple(
        {"name": f"{verb}_{figure}", "rw": f"rand{verb}", "bs": size, **common}
        for figure, size in (("iops", operation), ("bw", transfer))
        for verb in ("read", "write")
    )


PRESETS: Mapping[str, Preset] = {
    "four-corners": Preset(
        settings={
            "engine": "libaio",
            "direct": True,
            "runtime": "60 s",
            "ramp_time": "10 s",
            "size": "10 GiB",
            "thread": True,
            "iodepth": 128,
        },
        jobs=_corners("4 KiB", "1 MiB", {}),
    ),
    "kubestr": Preset(
        settings={
            "engine": "libaio",
            "direct": True,
            "runtime": "15 s",
            "ramp_time": "2 s",
            "size": "2 GiB",
            "iodepth": 64,
            "randrepeat": False,
            "gtod_reduce": True,
            "group_reporting": False,
        },
        jobs=_corners("4 KiB", "128 KiB", {"stonewall": False}),
    ),
}
