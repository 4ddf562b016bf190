"""``benchspec doctor``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import SPEC_FILE, host_keys_option, print_json
from .terminal import echo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..engine.ports import Session, Tool, ToolStatus
    from ..engine.results import Finding
    from ..engine.spec import Role, Site, Spec


@click.command("doctor", short_help=VERBS["doctor"])
@click.argument("spec", type=SPEC_FILE, required=False)
@click.option("--install-tools", is_flag=True, help="Install what is missing with the host's package manager, after saying which.")
@click.option("--yes", "-y", is_flag=True, help="Ask the spec's own programs for their versions too, which executes them.")
@host_keys_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(spec: Path | None, install_tools: bool, yes: bool, as_json: bool) -> int:
    """Check the sites of SPEC, or this host for the quickstart: tools and versions, disk, rights, and what would have to be installed.

    Exit code 4 if something the spec needs is missing.
    """
    model = _load(spec)
    needed = _needed(model, trusted=yes)
    rows: list[ToolStatus] = []
    findings: list[Finding] = []
    for site, tools_of in needed.values():
        found, statuses = _examine(site, tools_of, install=install_tools)
        findings.extend(found)
        rows.extend(status for status in statuses if status not in rows)
    findings = list(dict.fromkeys(findings))
    missing = sorted({status.tool.package for status in rows if status.path is None})
    if as_json:
        print_json(_to_json(rows, findings, missing))
    else:
        _print(rows, findings, missing)
    errors = [finding for finding in findings if finding.level.value == "error"]
    return 4 if missing or errors else 0


def _load(path: Path | None) -> Spec:
    from importlib.resources import as_file, files

    from ..engine.load import load_spec

    if path is not None:
        return load_spec(path).spec
    with as_file(files("benchspec.specs") / "quickstart.yaml") as shipped:
        return load_spec(shipped).spec


def _needed(spec: Spec, *, trusted: bool) -> Mapping[str, tuple[Site, Mapping[Role, Sequence[Tool]]]]:
    """Every site with the tools its roles need. Programs that the spec itself names are executed only if it is ``trusted``."""
    from ..engine.expand import expand
    from ..workloads.registry import WORKLOADS

    needed: dict[str, tuple[Site, dict[Role, dict[Tool, None]]]] = {}
    for experiment in expand(spec, WORKLOADS):
        tools = WORKLOADS[experiment.tool].tools(experiment.parameters)
        if experiment.tool == "command" and not trusted:
            tools = [dataclasses.replace(tool, version_argv=()) for tool in tools]
        sites = {site.name: site for site in spec.target(experiment.target).sites.values()}
        for place in experiment.roles:
            of_role = needed.setdefault(place.site, (sites[place.site], {}))[1].setdefault(place.role, {})
            of_role.update(dict.fromkeys(tool for tool in tools if not tool.roles or place.role in tool.roles))
    return {name: (site, {role: tuple(tools) for role, tools in roles.items()}) for name, (site, roles) in needed.items()}


def _examine(site: Site, tools_of: Mapping[Role, Sequence[Tool]], *, install: bool) -> tuple[Sequence[Finding], Sequence[ToolStatus]]:
    from .execution import catalogue

    runner = catalogue().runner(site.runner)
    findings = tuple(runner.check(site))
    session = runner.connect(site, "doctor")
    found: list[ToolStatus] = []
    try:
        for role, tools in tools_of.items():
            statuses = session.find_tools(role, tools)
            packages = sorted({status.tool.package for status in statuses if status.path is None})
            if packages and install:
                statuses = _install(session, role, packages, tools)
            found.extend(statuses)
    finally:
        session.close()
    return findings, found


def _install(session: Session, role: Role, packages: Sequence[str], tools: Sequence[Tool]) -> Sequence[ToolStatus]:
    echo(f"installing {', '.join(packages)} with the host's package manager", err=True)
    session.install(role, packages)
    return session.find_tools(role, tools)


def _print(rows: Sequence[ToolStatus], findings: Sequence[Finding], missing: Sequence[str]) -> None:
    from .tables import print_table

    print_table(
        ("tool", "found", "version", "Debian package"),
        [(row.tool.executable, row.path or "missing", row.version or "unknown", row.tool.package) for row in rows],
    )
    for finding in findings:
        echo(f"{finding.level.value}: [{finding.code}] {finding.message}")
    if missing:
        echo(f"missing: {', '.join(missing)}\n  what to do: apt-get install {' '.join(missing)}, or run again with --install-tools")
    else:
        echo("every tool is there")


def _to_json(rows: Sequence[ToolStatus], findings: Sequence[Finding], missing: Sequence[str]) -> dict[str, object]:
    from ..engine.codec import encode

    tools = [{"executable": r.tool.executable, "package": r.tool.package, "path": r.path, "version": r.version} for r in rows]
    return {"tools": tools, "findings": encode(findings), "missing_packages": list(missing)}
