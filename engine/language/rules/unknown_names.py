"""Names that one section gives and another uses: targets, sites, roles and variables."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnostics import At, Path, Problem, alternatives, did_you_mean, quote
from ...model.spec import Role
from ...model.text.json_access import items, mapping, text
from .view import View

ANY_ROLE = "any"


def _unknown(
    code: str, path: Path, what: str, name: object, known: list[str], at: At = At.VALUE
) -> Problem:
    return Problem(
        code=code,
        path=path,
        found=f"the unknown {what} {quote(name)}",
        expected=alternatives(known),
        hint=did_you_mean(name, known),
        at=at,
    )


def baseline(view: View) -> Iterator[Problem]:
    """BS201, BS202, BS218: baselines are targets, one of each environment at most, and there is
    another target.
    """
    if not view.compare or not view.targets:
        return
    first: dict[str, str] = {}
    for path, name in _baselines(view):
        if name not in view.targets:
            yield _unknown("BS201", path, "target", name, list(view.targets))
            continue
        environment = text(view.targets[name].get("environment"))
        if first.setdefault(environment, name) != name:
            where = (
                f"the environment {quote(environment)}"
                if environment
                else "the targets without an environment"
            )
            found = (
                f"{quote(name)}, a second baseline of {where} beside {quote(first[environment])}"
            )
            yield Problem(
                code="BS218", path=path, found=found, expected="one baseline of each environment"
            )
    if len(view.targets) < 2:
        found = "a comparison of 1 target"
        yield Problem(
            code="BS202",
            path=("compare",),
            found=found,
            expected="at least 2 targets",
            hint="add a target, or leave compare out",
            at=At.KEY,
        )


def _baselines(view: View) -> Iterator[tuple[Path, str]]:
    """The names under ``compare.baseline`` with their paths: one, or a list."""
    path, found = ("compare", "baseline"), view.compare.get("baseline")
    if isinstance(found, str):
        yield path, found
    for index, name in enumerate(items(found)):
        if isinstance(name, str):
            yield (*path, index), name


def workload_targets(view: View) -> Iterator[Problem]:
    """BS203, BS204, BS205: targets and overrides of workloads name targets, and overrides are
    used.
    """
    known = list(view.targets)
    for name, workload in view.workloads.items():
        for index, target in enumerate(items(workload.get("targets"))):
            if isinstance(target, str) and target not in known:
                yield _unknown(
                    "BS203", ("workloads", name, "targets", index), "target", target, known
                )
        for target in mapping(workload.get("overrides")):
            path = ("workloads", name, "overrides", target)
            if target.startswith("x-"):
                continue
            if target not in known:
                yield _unknown("BS204", path, "target", target, known, At.KEY)
            elif target not in view.targets_of(name):
                expected = f"one the workload runs on ({alternatives(view.targets_of(name))})"
                yield Problem(
                    code="BS205",
                    path=path,
                    found=f"overrides for {quote(target)}",
                    expected=expected,
                    at=At.KEY,
                )


def idle_targets(view: View) -> Iterator[Problem]:
    """BS217: every target has something to run."""
    busy = {target for workload in view.workloads for target in view.targets_of(workload)}
    for name in view.targets if view.workloads else ():
        if name not in busy:
            yield Problem(
                code="BS217",
                path=("targets", name),
                found="a target that no workload runs on",
                expected="a workload for it",
                at=At.KEY,
            )


def sites(view: View) -> Iterator[Problem]:
    """BS206, BS207: roles are on sites that exist, and every site is used."""
    known, used = list(view.sites), set()
    for name, target in view.targets.items():
        for role, site in mapping(target.get("sites")).items():
            used.add(text(site))
            if isinstance(site, str) and site not in known:
                yield _unknown("BS206", ("targets", name, "sites", role), "site", site, known)
    for site in known:
        if site not in used:
            yield Problem(
                code="BS207",
                path=("sites", site),
                found=f"the site {quote(site)}, which no target uses",
                expected="a target with a role on it",
                at=At.KEY,
            )


def roles_of_sites(view: View) -> Iterator[Problem]:
    """BS208: a target with sites has one for every role its workloads need."""
    for name, target in view.targets.items():
        placed = mapping(target.get("sites"))
        if not placed or ANY_ROLE in placed:
            continue
        for workload, tool in view.tools.items():
            for role in tool.roles if name in view.targets_of(workload) else ():
                if role not in placed:
                    found = (
                        f"no site for the role {quote(role)}, which the workload {quote(workload)}"
                        " needs"
                    )
                    yield Problem(
                        code="BS208",
                        path=("targets", name, "sites"),
                        found=found,
                        expected=f"{role}: SITE",
                        at=At.KEY,
                    )


def roles_of_hosts(view: View) -> Iterator[Problem]:
    """BS208: an ssh runner's hosts have one for every role the target's workloads need."""
    for name, target in view.targets.items():
        runner, *_ = view.site_options(name) or ({},)
        hosts = mapping(runner.get("hosts"))
        if "runner" not in target or not hosts or ANY_ROLE in hosts:
            continue
        for workload, tool in view.tools.items():
            for role in tool.roles if name in view.targets_of(workload) else ():
                if role not in hosts:
                    found = (
                        f"no host for the role {quote(role)}, which the workload {quote(workload)}"
                        " needs"
                    )
                    path = ("targets", name, "runner", "hosts")
                    yield Problem(
                        code="BS208",
                        path=path,
                        found=found,
                        expected=f"{role}: {{host: ...}}",
                        hint=did_you_mean(role, hosts),
                        at=At.KEY,
                    )


def roles_of_nodes(view: View) -> Iterator[Problem]:
    """BS238: where node groups name their roles, every role a workload needs is among them."""
    for name, target in view.targets.items():
        topology = mapping(target.get("topology"))
        named = {
            text(role) for group in topology.values() for role in items(mapping(group).get("roles"))
        }
        if not named - {Role.CONTROL_PLANE.value}:
            continue
        for workload, tool in view.tools.items():
            for role in tool.roles if name in view.targets_of(workload) else ():
                if role not in named:
                    found = (
                        f"no node group with the role {quote(role)}, which the workload"
                        f" {quote(workload)} needs"
                    )
                    yield Problem(
                        code="BS238",
                        path=("targets", name, "topology"),
                        found=found,
                        expected=f"{role} among the roles of a group",
                        at=At.KEY,
                    )


CHECKS = (
    baseline,
    workload_targets,
    idle_targets,
    sites,
    roles_of_sites,
    roles_of_hosts,
    roles_of_nodes,
)
"""The rules of this module."""
