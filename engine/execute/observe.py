"""What is known before the first trial and after the last: tools, facts, claims, drift."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ..claims import check_claims, drift
from ..errors import DriftError, MissingTool, RunFailed
from ..journal import Journal
from ..ports import Session, Tool, Workload
from ..results import ClaimCheck, ClaimState, FactSet, Finding, FindingLevel
from ..spec import Experiment, Role, Spec
from .events import Event, Observer

FACTS, CLAIM, FINDING, SKIPPED, TOOLS = "facts", "claim", "finding", "experiment.skipped", "tools"


class Observatory:
    """Observes the sites of a run and journals what it sees."""

    def __init__(self, spec: Spec, sessions: Mapping[str, Session], journal: Journal, observer: Observer) -> None:
        self._spec = spec
        self._sessions = sessions
        self._journal = journal
        self._observer = observer

    def tell(self, finding: Finding) -> None:
        """Journal and show a finding."""
        self._journal.append(FINDING, finding)
        self._observer.notify(
            Event(kind=FINDING, message=f"[{finding.code}] {finding.message}", data={"code": finding.code, "level": finding.level.value})
        )

    def observe(self, when: str, only: str | None = None) -> tuple[FactSet, ...]:
        """Facts of every target (or of the one that is named) on every site it uses."""
        sets = []
        for target in (t for t in self._spec.targets if only in (None, t.name)):
            for site in sorted({s.name for s in target.sites.values()} & self._sessions.keys()):
                for node, seen in self._sessions[site].facts().items():
                    facts = FactSet(target=target.name, site=site, node=node, when=when, observed_at=time.time(), facts=tuple(seen))
                    self._journal.append(FACTS, facts)
                    sets.append(facts)
        return tuple(sets)

    def check_claims(self, sets: Sequence[FactSet], *, allow_drift: bool) -> None:
        """Hold every claim against the facts.

        Raises:
            DriftError: a claim is contradicted and drift is not allowed.
        """
        contradictions = []
        for facts in sets:
            for check in check_claims(self._spec.target(facts.target), facts):
                self._journal.append(CLAIM, check)
                if check.state is ClaimState.MISMATCH:
                    contradictions.append(check)
                    self.tell(_contradiction(check))
        if contradictions and not allow_drift:
            lines = "; ".join(f"{c.target}: {c.fact} declared {c.declared!r}, observed {c.observed!r}" for c in contradictions)
            raise DriftError(f"the spec claims what is not so: {lines}", remedy="correct the spec, or measure all the same with --allow-drift")

    def compare(self, before: Sequence[FactSet], after: Sequence[FactSet]) -> None:
        """Tell which facts changed while it ran, node by node."""
        first = {facts.place: facts for facts in before}
        for last in after:
            for finding in drift(first[last.place], last) if last.place in first else ():
                self.tell(finding)

    def find_tools(self, experiments: Sequence[Experiment], workload_of: Mapping[str, Workload], *, install: bool) -> dict[str, str]:
        """Look for every tool the experiments need; return the experiments that cannot be measured, with the reason.

        Raises:
            MissingTool: nothing at all can be measured.
            RunFailed: the package manager failed.
        """
        missing = self._missing(experiments, workload_of)
        if missing and install:
            self._install(missing)
            missing = self._missing(experiments, workload_of)
        skipped = {}
        for experiment in experiments:
            wanted = workload_of[experiment.tool].tools(experiment.parameters)
            tools = {t for place in experiment.roles for t in _needed_by(place.role, wanted) if t in missing.get((place.site, place.role), ())}
            if tools:
                skipped[experiment.id] = _missing_reason(tools)
        for identity, reason in skipped.items():
            self._journal.append(SKIPPED, {"experiment_id": identity, "reason": reason})
        for reason in sorted(set(skipped.values())):
            self._observer.notify(Event(kind=SKIPPED, message=f"not measured: {reason}", data={"reason": reason}))
        if len(skipped) == len(experiments):
            raise MissingTool("; ".join(sorted(set(skipped.values()))), remedy="install what is missing, or give --install-tools")
        return skipped

    def _missing(self, experiments: Sequence[Experiment], workload_of: Mapping[str, Workload]) -> dict[tuple[str, Role], set[Tool]]:
        """What is not there, by site and role."""
        needed: dict[tuple[str, Role], dict[Tool, None]] = {}
        for experiment in experiments:
            tools = workload_of[experiment.tool].tools(experiment.parameters)
            for place in experiment.roles:
                needed.setdefault((place.site, place.role), {}).update(dict.fromkeys(_needed_by(place.role, tools)))
        missing: dict[tuple[str, Role], set[Tool]] = {}
        for (site, role), wanted in needed.items():
            if not wanted:
                continue
            statuses = self._sessions[site].find_tools(role, tuple(wanted))
            found = [{"executable": s.tool.executable, "path": s.path, "version": s.version} for s in statuses]
            self._journal.append(TOOLS, {"site": site, "role": role.value, "tools": found})
            absent = {status.tool for status in statuses if status.path is None}
            if absent:
                missing[site, role] = absent
        return missing

    def _install(self, missing: Mapping[tuple[str, Role], set[Tool]]) -> None:
        done: set[tuple[str, ...]] = set()
        for (site, role), tools in missing.items():
            packages = tuple(sorted({tool.package for tool in tools}))
            if packages in done and not self._missing_there(site, role, tools):
                continue
            self._observer.notify(Event(kind="install", message=f"installing {', '.join(packages)} on {site} with its package manager"))
            try:
                self._sessions[site].install(role, packages)
            except RunFailed as error:  # measure what the tools at hand allow
                level = FindingLevel.WARNING
                self.tell(Finding(code="F601", level=level, message=f"could not install {', '.join(packages)} on {site}: {error.message}"))
            done.add(packages)

    def _missing_there(self, site: str, role: Role, tools: set[Tool]) -> bool:
        return any(status.path is None for status in self._sessions[site].find_tools(role, tuple(tools)))


def _needed_by(role: Role, tools: Sequence[Tool]) -> tuple[Tool, ...]:
    return tuple(tool for tool in tools if not tool.roles or role in tool.roles)


def _contradiction(check: ClaimCheck) -> Finding:
    message = f"{check.fact}: declared {check.declared!r}, observed {check.observed!r}"
    return Finding(code="F101", level=FindingLevel.ERROR, message=message, target=check.target)


def _missing_reason(tools: set[Tool]) -> str:
    names = ", ".join(sorted(tool.executable for tool in tools))
    packages = " ".join(sorted({tool.package for tool in tools}))
    return f"{names} not found (apt-get install {packages}, or run with --install-tools)"
