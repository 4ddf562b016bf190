"""``benchspec doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import VERBS
from .options import SPEC_FILE, host_keys_option, overrides_option, print_json
from .terminal import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..engine.results import Finding
    from ..engine.spec import Spec
    from .examination import HostReport


@click.command("doctor", short_help=VERBS["doctor"])
@click.argument("spec", type=SPEC_FILE, required=False)
@overrides_option
@click.option("--install-tools", is_flag=True, help="Install what is missing with the host's package manager, after saying which.")
@click.option("--yes", "-y", is_flag=True, help="Ask the spec's own programs for their versions too, which executes them.")
@host_keys_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(spec: Path | None, overrides: tuple[str, ...], install_tools: bool, yes: bool, as_json: bool) -> int:
    """Check the hosts of SPEC, or this one for the quickstart: reachability, keys, rights, tools and versions, disk, clocks, locks, noise.

    A host that cannot be used does not hide the others. Exit code 4 if something the spec needs is missing or cannot be used.
    """
    from .examination import examine, needed_tools

    findings, reports = examine(needed_tools(_load(spec, overrides), trusted=yes), install=install_tools)
    missing = sorted({package for report in reports for package in report.missing})
    if as_json:
        print_json(_to_json(reports, findings, missing))
    else:
        _print(reports, findings)
    errors = [finding for finding in findings if finding.level.value == "error"]
    return 4 if missing or errors else 0


def _load(path: Path | None, overrides: tuple[str, ...]) -> Spec:
    from importlib.resources import as_file, files

    from ..engine.load import load_spec

    if path is not None:
        return load_spec(path, overrides=overrides).spec
    with as_file(files("benchspec.specs") / "quickstart.yaml") as shipped:
        return load_spec(shipped, overrides=overrides).spec


def _print(reports: Sequence[HostReport], findings: Sequence[Finding]) -> None:
    from .tables import print_table

    rows = [
        (report.host, ", ".join(roles), status.tool.executable, status.path or "missing", status.version or "unknown", status.tool.package)
        for report in reports
        for status, roles in report.tools
    ]
    header = ("host", "for", "tool", "found", "version", "Debian package")
    alone = len({report.host for report in reports}) < 2  # then a reader knows which
    if rows:
        print_table(*((header[2:], [row[2:] for row in dict.fromkeys(rows)]) if alone else (header, rows)))
    for finding in findings:
        echo(f"{finding.level.value}: [{finding.code}] {finding.message}")
    lacking = [report for report in reports if report.missing]
    for report in lacking:
        echo(f"missing{'' if alone else f' on {report.host}'}: {', '.join(report.missing)}\n  what to do: {report.remedy}")
    unseen = [report.host for report in reports if not report.looked]
    if unseen:
        echo(f"tools were not looked for on {', '.join(unseen)}")
    if not lacking and len(unseen) < len(reports):
        echo("every tool is there" if not unseen else "every tool is there on the others")


def _to_json(reports: Sequence[HostReport], findings: Sequence[Finding], missing: Sequence[str]) -> dict[str, object]:
    from ..engine.codec import encode

    hosts = [
        {
            "site": report.site, "host": report.host, "roles": list(report.roles), "looked": report.looked,
            "tools": [
                {"executable": s.tool.executable, "package": s.tool.package, "path": s.path, "version": s.version, "roles": list(roles)}
                for s, roles in report.tools
            ],
            "missing_packages": list(report.missing), "install": report.remedy,
            "findings": encode([finding for finding in findings if finding.message.startswith(f"{report.host}: ")]),
        }
        for report in reports
    ]  # fmt: skip
    statuses = dict.fromkeys(status for report in reports for status, _ in report.tools)
    tools = [{"executable": s.tool.executable, "package": s.tool.package, "path": s.path, "version": s.version} for s in statuses]
    return {"hosts": hosts, "tools": tools, "findings": encode(findings), "missing_packages": list(missing)}
