"""Where lifecycle steps are carried out: on the controller, on the host of a role, or on several
hosts. Pure questions about a spec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...language.build_target import ANY_ROLE
from ...model.contract.runner import CONTROLLER_KIND, Divisible, Runner, StepRunner
from ...model.errors import RunFailed
from ...model.spec import Role, Site, Spec, Step, Target
from ...planning.cluster_steps import is_of_cluster
from .order import RUN, SESSION, all_steps, rising

CONTROLLER, HOSTS = "controller", "hosts"
"""What ``on`` may say besides roles: this machine, every host of the target."""

CONTROLLER_SITE = Site(name="benchspec.controller", runner=CONTROLLER_KIND)
"""This machine, for what is done on the controller; no spec can give a site this name."""

HERE = "this machine"
"""The name of this machine for people; the local runner's hosts are called so too."""

Runners = Callable[[str], Runner]
"""Looks a runner up by kind. Raises Unsupported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace:
    """One machine on which a step is carried out. ``role`` stands for it on its site; ``roles`` are
    all those that the step means by it.
    """

    site: Site
    role: Role
    host: str
    roles: tuple[Role, ...] = ()

    @property
    def key(self) -> tuple[str, Role]:
        """What tells machines apart: the names of two sites are never the same."""
        return self.site.name, self.role


ON_CONTROLLER = StepPlace(site=CONTROLLER_SITE, role=Role.CLIENT, host=HERE)


def is_plural(step: Step) -> bool:
    """Whether the step is for several hosts, also where there is but one: its outputs are then
    called ``STEP.ROLE.NAME``.
    """
    return step.on == HOSTS or isinstance(step.on, tuple)


def places_of(target: Target, step: Step, runners: Runners) -> tuple[StepPlace, ...]:
    """The machines on which ``step`` is carried out, each once.

    Raises:
        RunFailed: the target has not got them, or it is not clear which one is meant.
        Unsupported: there is no runner of the kind of one of its sites.
    """
    if step.on == CONTROLLER or "seconds" in step.arguments or step.action == "chart":
        return (ON_CONTROLLER,)
    if is_of_cluster(step):
        return (_cluster(target, step),)
    if isinstance(step.on, tuple):
        return _of_roles(target, step, tuple(map(Role, step.on)), runners)
    if step.on not in (None, HOSTS):
        return tuple(
            StepPlace(site=p.site, role=p.role, host=p.host)
            for p in _of_roles(target, step, (Role(step.on),), runners)
        )
    found = tuple(_machines(target, step, runners))
    if step.on == HOSTS:
        if not found:
            raise RunFailed(
                f"found on: {HOSTS}, but {_where(target, step)} has no hosts of its own",
                remedy=f"use on: {CONTROLLER}",
            )
        return found
    return (_only(target, step, found, runners),)


def _where(target: Target, step: Step) -> str:
    return f"site {step.site} of target {target.name}" if step.site else f"target {target.name}"


def _sites(target: Target, step: Step) -> dict[str, Site]:
    return {site.name: site for site in target.sites.values() if step.site in (None, site.name)}


def _hosts(site: Site, runners: Runners) -> dict[Role, str]:
    carrier = runners(site.runner)
    return dict(carrier.step_hosts(site)) if isinstance(carrier, StepRunner) else {}


def _site_of(target: Target, role: Role) -> Site | None:
    return target.sites.get(role.value, target.sites.get(ANY_ROLE))


def _machines(target: Target, step: Step, runners: Runners) -> Iterator[StepPlace]:
    """Every host of the target's sites, each once, with the roles that the target has there."""
    for site in _sites(target, step).values():
        roles: dict[str, list[Role]] = {}
        for role, host in _hosts(site, runners).items():
            if (mine := _site_of(target, role)) is not None and mine.name == site.name:
                roles.setdefault(host, []).append(role)
        yield from (
            StepPlace(site=site, role=found[0], host=host, roles=tuple(found))
            for host, found in roles.items()
        )


def _only(target: Target, step: Step, found: tuple[StepPlace, ...], runners: Runners) -> StepPlace:
    """The one machine that a step without ``on`` can mean: the target's only host, or the
    controller where it has none.
    """
    hostless = [site for site in _sites(target, step).values() if not _hosts(site, runners)]
    hosts = tuple(dict.fromkeys(place.host for place in found))
    if hostless and not found:
        return ON_CONTROLLER
    if len(hosts) == 1 and not hostless:
        return StepPlace(site=found[0].site, role=found[0].role, host=found[0].host)
    if not found:
        raise RunFailed(
            f"found site: {step.site}, which the target has not got",
            remedy="name one of the sites of the target",
        )
    named = ", ".join(hosts)
    raise RunFailed(
        f"found no `on`, but {_where(target, step)} has more than one machine"
        f" ({named}{', and a cluster' if hostless else ''})",
        remedy=f"say where: on: {CONTROLLER}, a role, a list of roles, or {HOSTS} for every host",
    )


def _of_roles(
    target: Target, step: Step, wanted: tuple[Role, ...], runners: Runners
) -> tuple[StepPlace, ...]:
    found: dict[tuple[str, str], list[Role]] = {}
    sites: dict[str, Site] = {}
    for role in wanted:
        site = _site_of(target, role)
        host = (
            None
            if site is None or step.site not in (None, site.name)
            else _hosts(site, runners).get(role)
        )
        if site is None or host is None:
            where = " ".join(
                text for text in (f"on: {role.value}", step.site and f"site: {step.site}") if text
            )
            raise RunFailed(
                f"found {where}, which the target has not got",
                remedy="name one of the roles and sites of the target",
            )
        sites[site.name] = site
        found.setdefault((site.name, host), []).append(role)
    return tuple(
        StepPlace(
            site=sites[name],
            role=_first_role(target, sites[name], host, runners),
            host=host,
            roles=tuple(roles),
        )
        for (name, host), roles in found.items()
    )


def _first_role(target: Target, site: Site, host: str, runners: Runners) -> Role:
    """The role that stands for a host in all steps, so that they share one work directory there."""
    mine = (
        (role, _site_of(target, role))
        for role, name in _hosts(site, runners).items()
        if name == host
    )
    return next(role for role, of in mine if of is not None and of.name == site.name)


def _cluster(target: Target, step: Step) -> StepPlace:
    sites = _sites(target, step)
    if not sites:
        raise RunFailed(
            f"found site: {step.site}, which the target has not got",
            remedy="name one of the sites of the target",
        )
    site = next(iter(sites.values()))
    return StepPlace(site=site, role=Role.CLIENT, host=site.name)


def steered_site(target: Target, step: Step, runners: Runners) -> Site | None:
    """The site that a step on the controller is about: the one it names, else the target's only one
    that has no hosts; None where there is none.
    """
    found = [site for site in _sites(target, step).values() if not _hosts(site, runners)]
    return found[0] if len(found) == 1 else None


def releases_on(target: Target, site: str, runners: Runners) -> tuple[tuple[str, str], ...]:
    """The releases that the target's charts have on ``site``, each with its namespace as written
    ("": the site's).
    """
    charts = (
        own.step
        for per in (RUN, SESSION)
        for own in rising(target, per)
        if own.step.action == "chart"
    )
    there = [
        step
        for step in charts
        if (about := steered_site(target, step, runners)) is not None and about.name == site
    ]
    return tuple(
        (str(step.arguments.get("namespace", "")), str(step.arguments.get("release", step.name)))
        for step in there
    )


def places_of_all(targets: Iterable[Target], runners: Runners) -> dict[tuple[str, Role], StepPlace]:
    """Every machine on which steps of ``targets`` are carried out. Raises RunFailed,
    Unsupported.
    """
    return {
        place.key: place
        for target in targets
        for own in all_steps(target)
        for place in places_of(target, own.step, runners)
    }


def sites_of(spec: Spec, targets: Iterable[str], runners: Runners) -> dict[str, Site]:
    """The sites on which steps of these targets are carried out, by name. Raises RunFailed,
    Unsupported.
    """
    return {
        place.site.name: place.site
        for place in places_of_all(map(spec.target, targets), runners).values()
    }


def parts_of(site: Site, runners: Runners) -> tuple[Site, ...]:
    """``site`` as the hosts that are reached each for itself. Raises Unsupported."""
    carrier = runners(site.runner)
    return tuple(carrier.parts(site)) if isinstance(carrier, Divisible) else (site,)
