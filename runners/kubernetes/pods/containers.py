"""What each container of a pod has used: CPU time and working set, from the files of its own
control group as it sees them.

A container asks for itself, so no right beyond that to execute is needed; one whose image has no
``cat`` tells nothing (see kubelet). The working set is what Kubernetes means by it: memory in use
without inactive pages of files. Formats: cgroup v2
(https://docs.kernel.org/admin-guide/cgroup-v2.html: ``cpu.stat``, ``memory.current``,
``memory.stat``) and v1 (cpuacct.txt, memory.txt).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence

from ....engine.model.errors import RunFailed
from ..client.execute import execute
from .container import Container

FILES = (
    "/sys/fs/cgroup/cpu.stat",
    "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory.stat",
    "/sys/fs/cgroup/cpuacct/cpuacct.usage",
    "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    "/sys/fs/cgroup/memory/memory.stat",
)
"""Those of v2, then those of v1: a container has the ones or the others."""

_LINE = re.compile(rb"^(?:([a-z_0-9]+) )?(\d+)$", re.MULTILINE)


def read(name: str, said: bytes) -> dict[str, float]:
    """``container.NAME.cpu`` (s since the container began) and ``container.NAME.memory`` (B), from
    the contents of :data:`FILES` in their order.

    What they do not say is absent.
    """
    found = [(key.decode(), int(number)) for key, number in _LINE.findall(said)]
    named, bare = dict(found), [number for key, number in found if not key]
    inactive = named.get("total_inactive_file", named.get("inactive_file"))
    if "usage_usec" in named:
        cpu_s, used = named["usage_usec"] / 1e6, bare[0] if bare else None
    elif len(bare) == 2:
        cpu_s, used = bare[0] / 1e9, bare[1]
    else:
        return {}
    memory = (
        {}
        if used is None or inactive is None
        else {f"container.{name}.memory": float(max(0, used - inactive))}
    )
    return {f"container.{name}.cpu": cpu_s, **memory}


def ask(container: Container, names: Sequence[str]) -> Mapping[str, float]:
    """What those containers of the pod have used until now."""
    values: dict[str, float] = {}
    for name in names:
        with contextlib.suppress(RunFailed):  # no `cat`, or the container just ended: unknown
            values |= read(
                name,
                execute(
                    container.api, container.pod, name, ("cat", *FILES), timeout_s=10, tries=1
                ).stdout,
            )
    return values


def beside(container: Container) -> tuple[Sequence[str], Sequence[str]]:
    """The containers beside ``container`` in its pod, those included that somebody else put there:
    who tell what they use, and who cannot.
    """
    try:
        spec = container.api.get(container.api.namespaced("pods", container.pod))["spec"]
    except RunFailed:
        return (), ()  # whoever next asks the pod something is told why
    lasting = [
        one for one in spec.get("initContainers", []) if one.get("restartPolicy") == "Always"
    ]
    names = [
        one["name"] for one in (*spec["containers"], *lasting) if one["name"] != container.name
    ]
    telling = [name for name in names if ask(container, [name])]
    return telling, [name for name in names if name not in telling]
