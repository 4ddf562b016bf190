"""What is known before the first trial and after the last: facts, claims, drift."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...claims.claims import check_claims, drift, unseen_cvm
from ...control.events import Observer
from ...facts.boundaries import boundary_findings
from ...facts.clocks import clock_finding
from ...facts.logins import entry_findings
from ...language.claim_nodes import Placed
from ...model.errors import DriftError
from ...model.results import ClaimCheck, ClaimState, FactSet, Finding, FindingLevel
from ...model.spec import Spec, Target
from ...store.journal import Journal
from ...store.records import CLAIM, FACTS
from ...store.report_finding import report_finding
from ..sites.sites import Sites


class Observatory:
    """Observes the sites of a run and journals what it sees."""

    def __init__(self, spec: Spec, sites: Sites, journal: Journal, observer: Observer) -> None:
        self._spec = spec
        self._sites = sites
        self._journal = journal
        self._observer = observer
        self._told: set[Finding] = set()
        self._off: set[str] = set()

    def tell(self, finding: Finding) -> None:
        """Journal and show a finding, once."""
        if finding not in self._told:
            self._told.add(finding)
            report_finding(finding, self._journal, self._observer)

    def observe(self, when: str, only: str | None = None) -> tuple[FactSet, ...]:
        """Facts of every node of every target (or of the one that is named), on all sites that are
        connected. Raises SiteLost.
        """
        targets = [target for target in self._spec.targets if only in (None, target.name)]
        wanted = sorted({site for target in targets for site in self._sites_of(target)})
        seen, at = self._sites.facts(wanted), time.time()
        sets = []
        for target in targets:
            for site in self._sites_of(target):
                for node, facts in seen[site].items():
                    sets.append(
                        FactSet(
                            target=target.name,
                            site=site,
                            node=node,
                            when=when,
                            observed_at=at,
                            facts=tuple(facts),
                        )
                    )
        for each in sets:
            self.keep(each)
        return tuple(sets)

    def keep(self, facts: FactSet) -> None:
        """Journal facts, and tell of a clock that is off and of a host that was entered on
        faith.
        """
        self._journal.append(FACTS, facts)
        off, machine = clock_finding(facts), str(facts.value("machine.id") or facts.place)
        if (
            off is not None and machine not in self._off
        ):  # measured again and again, each time a little different: told once
            self._off.add(machine)
            self.tell(off)
        for finding in (*entry_findings(facts), *boundary_findings(facts)):
            self.tell(finding)

    def _sites_of(self, target: Target) -> list[str]:
        return sorted({site.name for site in target.sites.values()} & self._sites.sessions.keys())

    def check_claims(
        self,
        target: str,
        sets: Sequence[FactSet],
        placed: Placed,
        *,
        allow_drift: bool,
        known_only: bool = False,
    ) -> None:
        """Hold every claim of ``target`` against the facts; with ``known_only`` those alone that
        the facts say something about.

        Raises:
            DriftError: a claim is contradicted and drift is not allowed.
        """
        found = check_claims(self._spec.target(target), sets, placed)
        checks = [check for check in found if check.observed is not None or not known_only]
        contradictions = [check for check in checks if check.state is ClaimState.MISMATCH]
        for check in checks:
            self._journal.append(CLAIM, check)
        for finding in unseen_cvm(checks, sets):
            self.tell(finding)
        for check in contradictions:
            self.tell(
                Finding(
                    code="F101",
                    level=FindingLevel.ERROR,
                    message=_contradiction(check),
                    target=check.target,
                )
            )
        if contradictions and not allow_drift:
            lines = "; ".join(
                f"{check.target}: {_contradiction(check)}" for check in contradictions
            )
            raise DriftError(
                f"the spec claims what is not so: {lines}",
                remedy="correct the spec, or measure all the same with --allow-drift",
            )

    def compare(self, before: Sequence[FactSet], after: Sequence[FactSet]) -> None:
        """Tell which facts changed while it ran, node by node, and which nodes came or went on
        sites that were seen both times.
        """
        first = {facts.place: facts for facts in before}
        last = {facts.place: facts for facts in after}
        for place, facts in last.items():
            for finding in drift(first[place], facts) if place in first else ():
                self.tell(finding)
        both = {place[:2] for place in first} & {place[:2] for place in last}
        for place in sorted(first.keys() ^ last.keys()):
            if place[:2] in both:
                change = (
                    f"was there ({first[place].when}) and is gone"
                    if place in first
                    else f"was not there before and is ({last[place].when})"
                )
                message = f"node {place[2] or place[1]} of {place[1]} {change}"
                self.tell(
                    Finding(
                        code="F105", level=FindingLevel.WARNING, message=message, target=place[0]
                    )
                )


def _contradiction(check: ClaimCheck) -> str:
    where = f" on {', '.join(check.nodes)}" if check.nodes else ""
    return f"{check.fact}: declared {check.declared!r}, observed {check.observed!r}{where}"
