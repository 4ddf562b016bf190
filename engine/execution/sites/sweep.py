"""What a run left on its sites: listed, removed, listed again. A host that cannot be reached keeps
nobody from cleaning the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...lifecycle.step.places import Runners, parts_of, sites_of
from ...model.contract.runner import Runner
from ...model.errors import BenchspecError
from ...model.spec import Site, Spec
from ...planning.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Something that is still there, or may be: ``what`` is a leftover, or None where the host
    could not be asked; ``why`` is the reason.
    """

    site: str
    what: str | None
    why: str
    remedy: str | None = None

    def __str__(self) -> str:
        return (
            f"site {self.site} could not be listed: {self.why}"
            if self.what is None
            else f"{self.what}: {self.why}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What was removed, and what is left."""

    removed: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


def used_sites(spec: Spec, plan: Plan, runners: Runners) -> dict[str, Site]:
    """Every site that a run of ``plan`` uses, by name, that of the controller included if steps are
    carried out there.
    """
    targets = dict.fromkeys(experiment.target for experiment in plan.experiments)
    named = {place.site for experiment in plan.experiments for place in experiment.roles}
    all_sites = {site.name: site for target in spec.targets for site in target.sites.values()}
    return {name: site for name, site in all_sites.items() if name in named} | sites_of(
        spec, targets, runners
    )


def sweep(sites: Mapping[str, Site], runners: Runners, run_id: str) -> Swept:
    """Remove everything that ``run_id`` left on ``sites``, and verify it by listing again."""
    removed: dict[str, None] = {}
    left: list[Left] = []
    for site in sites.values():
        runner, parts = runners(site.runner), parts_of(site, runners)
        if (unheard := _sweep(site, runner, run_id, removed, left)) is None:
            continue
        if len(parts) == 1:
            left.append(unheard)
        else:
            left += [
                told
                for part in parts
                if (told := _sweep(part, runner, run_id, removed, left)) is not None
            ]
    return Swept(removed=tuple(removed), left=tuple(left))


def _sweep(
    site: Site, runner: Runner, run_id: str, removed: dict[str, None], left: list[Left]
) -> Left | None:
    """Sweep a site, or one host of it; returns why it could not be listed."""
    refused: dict[str, Left] = {}
    try:
        for leftover in runner.leftovers(site, run_id):
            what = f"{leftover.kind} {leftover.name}"
            try:
                runner.remove(site, leftover)
                removed[what] = None
            except BenchspecError as error:
                refused[what] = Left(
                    site=site.name, what=what, why=error.message, remedy=error.remedy
                )
        still = [f"{leftover.kind} {leftover.name}" for leftover in runner.leftovers(site, run_id)]
    except BenchspecError as error:
        return Left(site=site.name, what=None, why=error.headline, remedy=error.remedy)
    for what in still:
        removed.pop(what, None)
        again = Left(
            site=site.name,
            what=what,
            why="it came back while it was removed",
            remedy="run the same command again",
        )
        left.append(refused.get(what, again))
    return None


def tell(left: Iterable[Left]) -> str:
    """What is left, in one line."""
    return "; ".join(map(str, left))
