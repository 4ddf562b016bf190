"""The configuration section: targets as they were observed, claims held against observations,
limits and prices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...engine.analysis.node_of_role import Seats, roles_at, seats_of
from ...engine.model.results import ClaimCheck, ClaimState, Fact, RunData
from ...engine.model.spec import Limit, Price, Target
from ..wording.numbers import scale_column
from ..wording.values import STATES, cut, unit_of, write_value
from .model import ClaimRow, Configuration, FactRow, Item
from .selection import is_shown


def describe_targets(run: RunData, anchors: Mapping[str, str]) -> tuple[Configuration, ...]:
    """One configuration per target, in the order of the spec."""
    seats = seats_of(run.experiments, run.trials)
    return tuple(_describe(run, target, anchors[target.name], seats) for target in run.spec.targets)


def list_claims(run: RunData) -> tuple[ClaimRow, ...]:
    """Every declared fact beside the observed one, contradictions first; where nodes show different
    things each has a row, which names them.
    """
    rank = {ClaimState.MISMATCH: 0, ClaimState.UNKNOWN: 1, ClaimState.MATCH: 2}
    ordered = sorted(run.claims, key=lambda c: (c.target, rank[c.state], c.fact))
    titles = {target.name: target.title for target in run.spec.targets}
    shown = Counter(
        (claim.target, claim.fact) for claim in {_what(claim): claim for claim in ordered}.values()
    )
    rows = (
        _claim_row(
            claim,
            titles.get(claim.target, claim.target),
            alone=shown[claim.target, claim.fact] == 1,
        )
        for claim in ordered
    )
    return tuple(dict.fromkeys(rows))


def _what(claim: ClaimCheck) -> tuple[str, ...]:
    """What a row says, but for where and how it was seen."""
    return claim.target, claim.fact, repr(claim.declared), repr(claim.observed), claim.state


def write_limit(limit: Limit) -> str:
    """A documented limit with its layer, source and date."""
    scale = scale_column([limit.sustained, limit.burst], limit.unit)
    burst = f" (burst {scale.declared(limit.burst)})" if limit.burst != limit.sustained else ""
    applies = f", applies to {limit.applies_to}" if limit.applies_to else ""
    where = "".join(f", {axis} {label}" for axis, label in limit.where)
    return (
        f"{scale.declared(limit.sustained)}{burst}, layer {limit.layer}{applies}{where};"
        f" {limit.source}, as of {limit.as_of}"
    )


def write_price(price: Price | None) -> str:
    """A price with its source and date; empty when none is declared."""
    return (
        ""
        if price is None
        else f"{price.per_hour:g} {price.currency} per hour; {price.source}, as of {price.as_of}"
    )


def _describe(run: RunData, target: Target, anchor: str, seats: Seats) -> Configuration:
    doubtful = [
        c for c in run.claims if c.target == target.name and c.state is not ClaimState.MATCH
    ]
    declared = {c.fact: c for c in sorted(doubtful, key=lambda c: c.state is ClaimState.MISMATCH)}
    observations = list(_observations(run, target.name, seats))
    measured = {site for whose, site, _ in seats if whose == target.name} or {
        seen.site for seen in observations
    }
    rows = _fact_rows(observations, measured, declared)
    unseen = [
        c
        for name, c in sorted(declared.items())
        if name not in {row.name.partition(" (")[0] for row in rows}
    ]
    rows += [
        FactRow(
            name=c.fact,
            observed=write_value(c.observed, unit_of(c.fact)),
            declared=_declared(c),
            source=c.source or "",
        )
        for c in unseen
    ]
    return Configuration(
        target=target.name,
        title=target.title,
        anchor=anchor,
        facts=tuple(rows),
        limits=tuple(Item(name=limit.metric, text=write_limit(limit)) for limit in target.limits),
        price=write_price(target.price),
        pinned=_pinned(run, target.name),
    )


def _pinned(run: RunData, target: str) -> str:
    """Which roles ran on which CPUs; several where experiments differ; empty when nothing was
    pinned.
    """
    texts: dict[str, None] = {}
    for experiment in run.experiments:
        roles = [
            f"{place.role.value} {','.join(map(str, place.cpus))}"
            for place in experiment.roles
            if place.cpus
        ]
        if experiment.target == target and roles:
            texts.setdefault(f"{experiment.workload}: {'; '.join(roles)}")
    return ". ".join(texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One observation: of which place (``where`` for people; ``site`` alone for a site as a whole
    or with one node), at which moment.
    """

    site: str
    node: str
    where: str
    when: str
    fact: Fact


def _observations(run: RunData, target: str, seats: Seats) -> Iterator[_Seen]:
    paths = {
        experiment.short_id: experiment.path
        for experiment in run.experiments
        if experiment.target == target
    }
    several = len(set(paths.values())) > 1
    for facts in run.facts:
        if facts.target != target:
            continue
        path = next((paths[part] for part in facts.allocation_id.split("-") if part in paths), None)
        roles = roles_at(seats, *facts.place) if facts.node else ()
        place = ", ".join(sorted(roles)) or facts.node or facts.site
        for fact in facts.facts:
            where = f"{place}, {path}" if path is not None and several else place
            yield _Seen(site=facts.site, node=facts.node, where=where, when=facts.when, fact=fact)


def _fact_rows(
    observations: Sequence[_Seen], measured: Collection[str], declared: Mapping[str, ClaimCheck]
) -> list[FactRow]:
    """One row per fact, or one for each place that shows something else; later observations that
    differ are named in the row.

    ``measured``: the sites that matter.
    """
    by_name: dict[str, dict[tuple[str, str, str], list[_Seen]]] = {}
    for seen in observations:
        if is_shown(seen.fact.name) or seen.fact.name in declared:
            by_name.setdefault(seen.fact.name, {}).setdefault(
                (seen.site, seen.node, seen.where), []
            ).append(seen)
    rows: list[FactRow] = []
    for name in sorted(by_name):
        places: dict[str, list[_Seen]] = {}
        for of_place in by_name[name].values():
            places.setdefault(_over_time(of_place), []).append(of_place[0])
        everywhere = len(places) == 1 and {site for site, _, _ in by_name[name]} >= set(measured)
        for text, where in sorted(places.items(), key=lambda item: item[1][0].where):
            label = (
                name
                if everywhere
                else f"{name} ({'; '.join(dict.fromkeys(seen.where for seen in where))})"
            )
            rows.append(
                FactRow(
                    name=label,
                    observed=text,
                    declared=_declared(declared.get(name)),
                    source=where[0].fact.source,
                )
            )
    return rows


def _over_time(observations: Sequence[_Seen]) -> str:
    first = observations[0].fact
    text = write_value(first.value, first.unit or unit_of(first.name))
    last = text
    for seen in observations[1:]:
        value = write_value(seen.fact.value, seen.fact.unit or unit_of(seen.fact.name))
        if value != last:
            text, last = f"{text}, then {value} ({seen.when})", value
    return text


def _declared(claim: ClaimCheck | None) -> str:
    return "" if claim is None else write_value(claim.declared, unit_of(claim.fact))


def _claim_row(claim: ClaimCheck, target: str, *, alone: bool) -> ClaimRow:
    """A row of the table; it names the nodes of a contradiction, and of any row that is not
    ``alone`` about its claim.
    """
    unit = unit_of(claim.fact)
    where = (
        f" ({', '.join(claim.nodes)})"
        if claim.nodes and (claim.state is ClaimState.MISMATCH or not alone)
        else ""
    )
    return ClaimRow(
        target=target,
        fact=f"{claim.fact}{where}",
        declared=write_value(claim.declared, unit),
        observed=write_value(claim.observed, unit),
        state=STATES[claim.state],
        source=cut(claim.source or ""),
    )
