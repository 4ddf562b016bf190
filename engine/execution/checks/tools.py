"""The programs that experiments need, on the nodes of the roles that need them: looked for,
installed if allowed, and missed with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...control.events import Event, Observer
from ...model.contract.runner import Session
from ...model.contract.values import Tool, ToolStatus
from ...model.contract.workload import Workload
from ...model.errors import MissingTool, RunFailed
from ...model.results import Finding, FindingLevel
from ...model.spec import Experiment, Role
from ...store.journal import Journal
from ...store.records import SKIPPED, TOOLS
from ...store.report_finding import report_finding
from ..sites.sites import at_once, on_site

Seat = tuple[str, Role, str | None]
"""Where a tool is looked for: site, role, and the image the experiment names."""

Missing = Mapping[Seat, Sequence[ToolStatus]]
"""What is not there, by where it was looked for."""


class ToolSearch:
    """Looks for tools on the sites of a run and journals what it finds."""

    def __init__(
        self, sessions: Mapping[str, Session], journal: Journal, observer: Observer
    ) -> None:
        self._sessions = sessions
        self._journal = journal
        self._observer = observer

    def find(
        self,
        experiments: Sequence[Experiment],
        workload_of: Mapping[str, Workload],
        *,
        install: bool,
    ) -> dict[str, str]:
        """Look for every tool the experiments need; return the experiments that cannot be measured,
        with the reason.

        Raises:
            MissingTool: nothing at all can be measured.
            TransportLost: a site is not reached any more.
        """
        missing = self._missing(experiments, workload_of)
        if missing and install:
            self._install(missing)
            missing = self._missing(experiments, workload_of)
        skipped = {}
        for experiment in experiments:
            wanted = workload_of[experiment.tool].tools(experiment.parameters)
            seats = [(place.site, place.role, experiment.image) for place in experiment.roles]
            absent = [
                status
                for seat in seats
                for status in missing.get(seat, ())
                if status.tool in wanted
            ]
            if absent:
                skipped[experiment.id] = _missing_reason(absent)
        self._skip(skipped)
        if len(skipped) == len(experiments):
            raise MissingTool(
                "; ".join(sorted(set(skipped.values()))),
                remedy="install what is missing, or give --install-tools",
            )
        return skipped

    def _skip(self, skipped: Mapping[str, str]) -> None:
        for identity, reason in skipped.items():
            self._journal.append(SKIPPED, {"experiment_id": identity, "reason": reason})
        for reason in sorted(set(skipped.values())):
            self._observer.notify(
                Event(kind=SKIPPED, message=f"not measured: {reason}", data={"reason": reason})
            )

    def _missing(
        self, experiments: Sequence[Experiment], workload_of: Mapping[str, Workload]
    ) -> dict[Seat, Sequence[ToolStatus]]:
        needed: dict[Seat, dict[Tool, None]] = {}
        for experiment in experiments:
            tools = workload_of[experiment.tool].tools(experiment.parameters)
            for place in experiment.roles:
                needed.setdefault((place.site, place.role, experiment.image), {}).update(
                    dict.fromkeys(needed_by(place.role, tools))
                )
        asked = [(seat, tuple(wanted)) for seat, wanted in needed.items() if wanted]
        missing: dict[Seat, Sequence[ToolStatus]] = {}
        for (seat, _), statuses in zip(asked, at_once(self._ask, asked), strict=True):
            found = [
                {"executable": s.tool.executable, "path": s.path, "version": s.version}
                for s in statuses
            ]
            self._journal.append(TOOLS, {"site": seat[0], "role": seat[1].value, "tools": found})
            if absent := [status for status in statuses if status.path is None]:
                missing[seat] = absent
        return missing

    def _ask(self, asked: tuple[Seat, tuple[Tool, ...]]) -> Sequence[ToolStatus]:
        (site, role, image), tools = asked
        with on_site(site):
            return self._sessions[site].find_tools(role, tools, image)

    def _install(self, missing: Missing) -> None:
        done: set[tuple[str, ...]] = set()
        for (site, role, image), absent in missing.items():
            packages = tuple(sorted({status.tool.package for status in absent}))
            if packages in done and not self._missing_there(
                (site, role, image), [status.tool for status in absent]
            ):
                continue
            self._observer.notify(
                Event(
                    kind="install",
                    message=f"installing {', '.join(packages)} on {site} with its package manager",
                )
            )
            try:
                with on_site(site):
                    self._sessions[site].install(role, packages)
            except RunFailed as error:  # measure what the tools at hand allow
                message = f"could not install {', '.join(packages)} on {site}: {error.message}"
                report_finding(
                    Finding(code="F601", level=FindingLevel.WARNING, message=message),
                    self._journal,
                    self._observer,
                )
            done.add(packages)

    def _missing_there(self, seat: Seat, tools: Sequence[Tool]) -> bool:
        site, role, image = seat
        return any(
            status.path is None for status in self._sessions[site].find_tools(role, tools, image)
        )


def needed_by(role: Role, tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Those of ``tools`` that ``role`` needs."""
    return tuple(tool for tool in tools if not tool.roles or role in tool.roles)


def _missing_reason(absent: Sequence[ToolStatus]) -> str:
    nodes: dict[str, set[str]] = {}
    for status in absent:
        nodes.setdefault(status.tool.executable, set()).add(status.node)
    names = ", ".join(f"{name} not found{_on(nodes[name])}" for name in sorted(nodes))
    packages = " ".join(sorted({status.tool.package for status in absent}))
    return f"{names} (apt-get install {packages}, or run with --install-tools)"


def _on(nodes: set[str]) -> str:
    named = sorted(filter(None, nodes))
    return f" on {', '.join(named)}" if named else ""
