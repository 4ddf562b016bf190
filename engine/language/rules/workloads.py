"""Workloads against what their targets and tools can do: paths, placement, durations, primary
metrics, files, images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.diagnostics import Path, Problem, alternatives, did_you_mean, quote
from ...model.spec import Json
from ...model.text.json_access import mapping, quantity, text, whole
from ...model.units import Dimension
from ..claim_nodes import ASIDE
from ..schema.points import axes_of, candidates, path_of
from .view import Tool, View

CLUSTER_PATHS = (
    "pod-to-pod",
    "pod-to-service",
    "pod-to-host",
    "host-to-service",
    "node-port",
    "ingress",
    "mesh",
)
MEASURED = ("runtime", "duration", "seconds")
"""What tools call the time that counts, among the parameters that add up to a trial; those before
it are warm-up.
"""


def situations(view: View, key: str) -> Iterator[tuple[str, Path, str, list[str]]]:
    """Every ``path`` or ``placement`` with its workload, place and the targets it holds for."""
    for name, workload in view.workloads.items():
        overrides = mapping(workload.get("overrides"))
        targets = [
            target for target in view.targets_of(name) if key not in mapping(overrides.get(target))
        ]
        yield name, ("workloads", name, key), text(workload.get(key)), targets
        for axis in axes_of(workload):
            for index, value in enumerate(axis.values if axis.name == key else ()):
                yield name, path_of(axis, name, index), text(value), targets
        for target, override in overrides.items():
            yield (
                name,
                ("workloads", name, "overrides", target, key),
                text(mapping(override).get(key)),
                [target] if target in view.targets_of(name) else [],
            )


def paths(view: View) -> Iterator[Problem]:
    """BS268, BS274, BS275: traffic paths exist on the targets, and mean something to the tool."""
    for name, path, value, targets in situations(view, "path"):
        tool = view.tools.get(name)
        if value and tool is not None and len(tool.roles) == 1:
            found = f"a path for {view.workloads[name]['tool']}, whose only role is {tool.roles[0]}"
            yield Problem(code="BS274", path=path, found=found, expected="no path")
        without = [target for target in targets if view.without_kubernetes(target)]
        if value in CLUSTER_PATHS and without:
            kinds = alternatives(sorted(view.kinds(without[0])))
            found = f"{quote(value)} on {quote(without[0])}, whose runner is {kinds}"
            yield Problem(
                code="BS268",
                path=path,
                found=found,
                expected="host-to-host or loopback, or a kubernetes runner",
            )
        if value == "loopback" and view.workloads[name].get("placement") in (
            "across-nodes",
            "across-sites",
        ):
            yield Problem(
                code="BS275",
                path=path,
                found=f"loopback with placement {view.workloads[name]['placement']}",
                expected="placement: same-node",
            )


def placements(view: View) -> Iterator[Problem]:
    """BS269: there are as many nodes and sites as the placement asks for."""
    for _, path, value, targets in situations(view, "placement"):
        for target in targets:
            why = _impossible(view, value, target)
            if why:
                yield Problem(
                    code="BS269",
                    path=path,
                    found=f"{value} on {quote(target)}, {why}",
                    expected="a placement the target can have",
                )
                break


def _impossible(view: View, placement: str, target: str) -> str:
    named = mapping(view.targets[target].get("sites"))
    sites = (
        len({text(site) for role, site in named.items() if role not in ASIDE})
        if named
        else len(view.site_options(target))
    )
    if placement == "across-sites" and sites == 1:
        return "which has one site"
    if placement == "same-node" and sites > 1:
        return "whose roles are on several sites"
    if placement == "across-nodes" and sites <= 1:
        if view.on_one_machine(target):
            return "whose runner has one node"
        counts = [whole(group.get("count")) for group in view.groups(target).values()]
        if (
            counts
            and None not in counts
            and sum(count for count in counts if count is not None) == 1
        ):
            return "whose topology has one node"
    return ""


def durations(view: View) -> Iterator[Problem]:
    """BS270, BS271: the measured time exceeds what is thrown away, and reaches its gate."""
    for name, tool in view.tools.items():
        if tool.duration:
            yield from dict.fromkeys(_durations(name, view.workloads[name], tool))


def _durations(name: str, workload: Mapping[str, Json], tool: Tool) -> Iterator[Problem]:
    measured = next((key for key in MEASURED if key in tool.duration), tool.duration[-1])
    before = tool.duration[: tool.duration.index(measured)]
    gate = quantity(mapping(workload.get("gates")).get("min_duration"), Dimension.TIME)
    for candidate in candidates(name, workload):
        length = quantity(tool.parameter(candidate.parameters, measured), Dimension.TIME)
        if length is None:
            continue
        for key in before:
            lead = quantity(candidate.parameters.get(key), Dimension.TIME)
            if lead is not None and lead >= length:
                shown = (
                    f"{quote(candidate.parameters[key])} before a measurement of"
                    f" {quote(tool.parameter(candidate.parameters, measured))}"
                )
                yield Problem(
                    code="BS270",
                    path=candidate.origins[key],
                    found=shown,
                    expected=f"{key} shorter than {measured}",
                )
        override = mapping(
            mapping(mapping(workload.get("overrides")).get(candidate.target or "")).get("gates")
        )
        if gate is not None and "min_duration" not in override and gate > length:
            path: Path = ("workloads", name, "gates", "min_duration")
            yield Problem(
                code="BS271",
                path=path,
                found=quote(mapping(workload["gates"])["min_duration"]),
                expected=f"at most {measured}, which is {length:g} s",
            )


def primaries(view: View) -> Iterator[Problem]:
    """BS272: the primary metric is one the tool reports."""
    for name, tool in view.tools.items():
        workload = view.workloads[name]
        known = [*tool.metrics, *_declared(name, workload, tool)]
        overrides = (
            (("overrides", target), mapping(override))
            for target, override in mapping(workload.get("overrides")).items()
        )
        for place, holder in (((), workload), *overrides):
            series = text(holder.get("primary"))
            metric = series.partition("{")[0]
            if metric and tool.metrics and metric not in known:
                path: Path = ("workloads", name, *place, "primary")
                expected = f"a metric of {workload['tool']}: {alternatives(known, '')}"
                yield Problem(
                    code="BS272",
                    path=path,
                    found=f"the unknown metric {quote(metric)}",
                    expected=expected,
                    hint=did_you_mean(metric, known),
                )


def _declared(name: str, workload: Mapping[str, Json], tool: Tool) -> list[str]:
    """The metrics that a workload declares itself, in any of its points."""
    if not tool.declares:
        return []
    return list(
        dict.fromkeys(
            metric
            for candidate in candidates(name, workload)
            for metric in mapping(candidate.parameters.get(tool.declares))
        )
    )


def files(view: View) -> Iterator[Problem]:
    """BS273: fio's files fit on the volume."""
    for name, workload in view.workloads.items():
        if workload.get("tool") != "fio":
            continue
        for target in view.targets_of(name):
            volume = quantity(
                mapping(view.targets[target].get("storage")).get("size"), Dimension.BYTES
            )
            if volume is not None:
                yield from dict.fromkeys(_too_large(name, workload, target, volume))


def _too_large(
    name: str, workload: Mapping[str, Json], target: str, volume: float
) -> Iterator[Problem]:
    for candidate in candidates(name, workload):
        size = quantity(candidate.parameters.get("size"), Dimension.BYTES)
        processes = whole(candidate.parameters.get("numjobs")) or 1
        if size is not None and candidate.target in (None, target) and size * processes > volume:
            shown = (
                f"{processes} files of {quote(candidate.parameters['size'])}"
                if processes > 1
                else f"a file of {quote(candidate.parameters['size'])}"
            )
            found = f"{shown} on {quote(target)}, whose volume has {volume / 2**30:g} GiB"
            yield Problem(
                code="BS273", path=candidate.origins["size"], found=found, expected="files that fit"
            )


CHECKS = (paths, placements, durations, primaries, files)
"""The rules of this module."""
