"""The configuration section: targets as they were observed, claims held against observations, limits and prices."""

from __future__ import annotations

from collections.abc import Mapping

from ..engine.results import ClaimCheck, ClaimState, Fact, FactSet, RunData
from ..engine.spec import Limit, Price, Target
from .model import ClaimRow, Configuration, FactRow, Item
from .numbers import scale_column
from .selection import is_steady
from .values import STATES, cut, unit_of, write_value


def describe_targets(run: RunData, anchors: Mapping[str, str]) -> tuple[Configuration, ...]:
    """One configuration per target, in the order of the spec."""
    return tuple(_describe(run, target, anchors[target.name]) for target in run.spec.targets)


def list_claims(run: RunData) -> tuple[ClaimRow, ...]:
    """Every declared fact beside the observed one, contradictions first."""
    rank = {ClaimState.MISMATCH: 0, ClaimState.UNKNOWN: 1, ClaimState.MATCH: 2}
    ordered = sorted(run.claims, key=lambda c: (c.target, rank[c.state], c.fact))
    titles = {target.name: target.title for target in run.spec.targets}
    return tuple(_claim_row(claim, titles.get(claim.target, claim.target)) for claim in ordered)


def write_limit(limit: Limit) -> str:
    """A documented limit with its layer, source and date."""
    scale = scale_column([limit.sustained, limit.burst], limit.unit)
    burst = f" (burst {scale.declared(limit.burst)})" if limit.burst != limit.sustained else ""
    applies = f", applies to {limit.applies_to}" if limit.applies_to else ""
    return f"{scale.declared(limit.sustained)}{burst}, layer {limit.layer}{applies}; {limit.source}, as of {limit.as_of}"


def write_price(price: Price | None) -> str:
    """A price with its source and date; empty when none is declared."""
    return "" if price is None else f"{price.per_hour:g} {price.currency} per hour; {price.source}, as of {price.as_of}"


def _describe(run: RunData, target: Target, anchor: str) -> Configuration:
    declared = {c.fact: c for c in run.claims if c.target == target.name and c.state is not ClaimState.MATCH}
    sets = [s for s in run.facts if s.target == target.name]
    rows = _fact_rows(sets, declared)
    unseen = [c for name, c in sorted(declared.items()) if name not in {row.name.partition(" (")[0] for row in rows}]
    rows += [FactRow(name=c.fact, observed=write_value(c.observed, unit_of(c.fact)), declared=_declared(c), source=c.source or "") for c in unseen]
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
    """Which roles ran on which CPUs; several where experiments differ; empty when nothing was pinned."""
    texts: dict[str, None] = {}
    for experiment in run.experiments:
        roles = [f"{place.role.value} {','.join(map(str, place.cpus))}" for place in experiment.roles if place.cpus]
        if experiment.target == target and roles:
            texts.setdefault(f"{experiment.workload}: {'; '.join(roles)}")
    return ". ".join(texts)


def _fact_rows(sets: list[FactSet], declared: Mapping[str, ClaimCheck]) -> list[FactRow]:
    """One row per fact, or per fact and site when a target's sites differ; later observations that differ are named in the row."""
    sites = sorted({s.site for s in sets})
    seen: dict[str, dict[str, list[tuple[str, Fact]]]] = {}
    for fact_set in sets:
        for fact in filter(lambda f: is_steady(f.name) or f.name in declared, fact_set.facts):
            seen.setdefault(fact.name, {}).setdefault(fact_set.site, []).append((fact_set.when, fact))
    rows: list[FactRow] = []
    for name in sorted(seen):
        texts = {site: _over_time(seen[name][site]) for site in sites if site in seen[name]}
        shared = len(set(texts.values())) == 1 and len(texts) == len(sites)
        for site in sorted(texts)[: 1 if shared else None]:
            label = name if shared else f"{name} ({site})"
            claim = declared.get(name)
            rows.append(FactRow(name=label, observed=texts[site], declared=_declared(claim), source=seen[name][site][0][1].source))
    return rows


def _over_time(observations: list[tuple[str, Fact]]) -> str:
    first = observations[0][1]
    text = write_value(first.value, first.unit or unit_of(first.name))
    last = text
    for when, fact in observations[1:]:
        value = write_value(fact.value, fact.unit or unit_of(fact.name))
        if value != last:
            text, last = f"{text}, then {value} ({when})", value
    return text


def _declared(claim: ClaimCheck | None) -> str:
    return "" if claim is None else write_value(claim.declared, unit_of(claim.fact))


def _claim_row(claim: ClaimCheck, target: str) -> ClaimRow:
    unit = unit_of(claim.fact)
    return ClaimRow(
        target=target,
        fact=claim.fact,
        declared=write_value(claim.declared, unit),
        observed=write_value(claim.observed, unit),
        state=STATES[claim.state],
        source=cut(claim.source or "", 60),
    )
