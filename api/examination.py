"""The examination of a spec's hosts: can each be used, and has it the tools that its roles need?"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from ..engine.control.events import Observer
from ..engine.language.load import load_spec
from ..engine.model.contract.runner import Divisible, Runner, Session, StepRunner
from ..engine.model.contract.values import Tool, ToolStatus
from ..engine.model.errors import BenchspecError, RunFailed
from ..engine.model.results import Finding, FindingLevel
from ..engine.model.spec import Role, Site, Spec
from ..engine.planning.expand import expand
from ..workloads.registry import WORKLOADS
from .catalogue import catalogue
from .notices import INSTALLING, OneByOne, Unobserved, tell
from .settings import File

Needed = Mapping[str, tuple[Site, Mapping[Role, Sequence[Tool]]]]
"""Sites by name, with the tools of each role."""

Found = tuple[tuple[ToolStatus, tuple[Role, ...]], ...]
"""Tools, and the roles that need each."""

AT_ONCE = 16
"""Hosts that are looked at together."""

RUN_ID = "doctor"

MOVING = frozenset({"F521", "F612"})
"""Findings with figures that differ from one look to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """A host, or a site without hosts of its own, with its tools and the roles that need each;
    ``looked``: its tools could be looked for.
    """

    site: str
    host: str
    roles: tuple[Role, ...]
    tools: Found = ()
    looked: bool = True

    @property
    def missing(self) -> tuple[str, ...]:
        """The packages of what is not there."""
        return tuple(
            sorted({status.tool.package for status, _ in self.tools if status.path is None})
        )

    @property
    def remedy(self) -> str:
        """What to type there; empty when nothing is missing."""
        return (
            f"apt-get install {' '.join(self.missing)}, or run again with --install-tools"
            if self.missing
            else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What was found: the hosts with their tools, and findings about them."""

    hosts: tuple[HostReport, ...]
    findings: tuple[Finding, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The Debian packages that some host lacks, sorted."""
        return tuple(sorted({package for host in self.hosts for package in host.missing}))

    @property
    def is_ready(self) -> bool:
        """Whether nothing that the spec needs is missing or cannot be used."""
        return not self.missing and all(
            finding.level is not FindingLevel.ERROR for finding in self.findings
        )


def doctor(
    spec: File | None = None,
    *,
    overrides: Sequence[str] = (),
    trusted: bool = False,
    install_tools: bool = False,
    accept_new_host_keys: bool = False,
    observer: Observer | None = None,
) -> Examination:
    """Look at the hosts of ``spec``, or at this one for the quickstart: can each be reached and
    used, which tools has it, and which does it lack. A host that cannot be used is a finding.

    ``trusted``: programs that the spec itself names are asked for their versions, which executes
    them. ``install_tools``: what is missing is installed with the host's package manager first.
    ``accept_new_host_keys``: hosts whose key nobody vouches for are connected to.

    Raises:
        SpecError: the spec cannot be used.
    """
    needed = needed_tools(_load(spec, overrides), trusted=trusted)
    findings, hosts = examine(
        needed,
        install=install_tools,
        accept_new_host_keys=accept_new_host_keys,
        observer=observer,
    )
    return Examination(hosts=tuple(hosts), findings=tuple(findings))


def _load(path: File | None, overrides: Sequence[str]) -> Spec:
    if path is not None:
        return load_spec(Path(path), overrides=overrides).spec
    with as_file(files("benchspec.specs") / "quickstart.yaml") as shipped:
        return load_spec(shipped, overrides=overrides).spec


def needed_tools(spec: Spec, *, trusted: bool) -> Needed:
    """Every site with the tools its roles need. Programs that the spec itself names are executed
    only if it is ``trusted``.
    """
    sites = {site.name: site for target in spec.targets for site in target.sites.values()}
    needed: dict[str, tuple[Site, dict[Role, dict[Tool, None]]]] = {
        name: (site, {}) for name, site in sites.items()
    }
    for experiment in expand(spec, WORKLOADS):
        tools = WORKLOADS[experiment.tool].tools(experiment.parameters)
        if experiment.tool == "command" and not trusted:
            tools = [dataclasses.replace(tool, version_argv=()) for tool in tools]
        for place in experiment.roles:
            of_role = needed[place.site][1].setdefault(place.role, {})
            of_role.update(
                dict.fromkeys(tool for tool in tools if not tool.roles or place.role in tool.roles)
            )
    return {
        name: (site, {role: tuple(tools) for role, tools in roles.items()})
        for name, (site, roles) in needed.items()
    }


def examine(
    needed: Needed,
    *,
    install: bool,
    accept_new_host_keys: bool = False,
    observer: Observer | None = None,
) -> tuple[Sequence[Finding], Sequence[HostReport]]:
    """Look at every site. What cannot be reached or used is a finding. With ``install`` what is
    missing is installed first.
    """
    installing = OneByOne(observer or Unobserved()) if install else None
    runners = catalogue(accept_new_host_keys=accept_new_host_keys).runner
    findings: list[Finding] = []
    reports: dict[tuple[str, Found], HostReport] = {}
    for site, tools_of in needed.values():
        runner = runners(site.runner)
        try:
            findings.extend(runner.check(site))
        except BenchspecError as error:
            findings.append(_failure("F621", error))
        parts = runner.parts(site) if isinstance(runner, Divisible) else (site,)
        look = functools.partial(_look, runner, tools_of, installing=installing)
        with ThreadPoolExecutor(max(1, min(AT_ONCE, len(parts)))) as workers:
            looks = list(workers.map(look, parts))
        for report, finding in looks:
            reports.setdefault((report.host, report.tools), report)
            if finding is not None and not any(
                finding.message.partition("; ")[0] in known.message for known in findings
            ):
                findings.append(
                    dataclasses.replace(finding, message=f"{report.host}: {finding.message}")
                )
    told: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        told.setdefault(_gist(finding), finding)
    return list(told.values()), list(reports.values())


def _gist(finding: Finding) -> tuple[str, str, str]:
    """What tells findings apart: of clocks and disks, which several sites may share, not the
    figures.
    """
    host, _, rest = finding.message.partition(": ")
    return finding.code, host, re.sub(r"[0-9.+-]+", "#", rest) if finding.code in MOVING else rest


def _look(
    runner: Runner,
    tools_of: Mapping[Role, Sequence[Tool]],
    part: Site,
    *,
    installing: Observer | None,
) -> tuple[HostReport, Finding | None]:
    """Look at one host; ``installing`` is told what is installed, None: nothing is."""
    hosts = runner.step_hosts(part) if isinstance(runner, StepRunner) else {}
    roles = tuple(role for role in tools_of if not hosts or role in hosts)
    report = HostReport(
        site=part.name, host=next(iter(hosts.values()), part.name), roles=tuple(hosts) or roles
    )
    try:
        session = runner.connect(part, RUN_ID)
    except BenchspecError as error:
        return dataclasses.replace(report, looked=False), _failure("F621", error)
    try:
        failure = _install(session, roles, tools_of, installing) if installing else None
        return dataclasses.replace(report, tools=_tools(session, roles, tools_of)), failure
    except BenchspecError as error:
        return dataclasses.replace(report, looked=False), _failure("F621", error)
    finally:
        session.close()


def _tools(
    session: Session, roles: Sequence[Role], tools_of: Mapping[Role, Sequence[Tool]]
) -> Found:
    by_status: dict[ToolStatus, list[Role]] = {}
    for role in roles:
        for status in session.find_tools(role, tools_of[role]):
            by_status.setdefault(status, []).append(role)
    return tuple((status, tuple(of)) for status, of in by_status.items())


def _install(
    session: Session,
    roles: Sequence[Role],
    tools_of: Mapping[Role, Sequence[Tool]],
    observer: Observer,
) -> Finding | None:
    """Install what is missing; a package manager that fails is a finding."""
    for role in roles:
        packages = sorted(
            {
                status.tool.package
                for status in session.find_tools(role, tools_of[role])
                if status.path is None
            }
        )
        if not packages:
            continue
        message = f"installing {', '.join(packages)} with the host's package manager"
        tell(observer, INSTALLING, message, packages=packages)
        try:
            session.install(role, packages)
        except RunFailed as error:
            return _failure("F601", error)
    return None


def _failure(code: str, error: BenchspecError) -> Finding:
    return Finding(
        code=code,
        level=FindingLevel.ERROR,
        message=f"{error.message}; {error.remedy}" if error.remedy else error.message,
    )
