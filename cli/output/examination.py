"""What doctor found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .tables import print_table
from .terminal import echo

if TYPE_CHECKING:
    from ...api.examination import Examination, HostReport
    from ...engine.model.contract.values import ToolStatus
    from ...engine.model.results import Finding


def print_examination(found: Examination) -> None:
    """Print tools, findings and what is missing where."""
    reports = found.hosts
    alone = len({report.host for report in reports}) < 2  # then a reader knows which
    _print_tools(reports, alone=alone)
    for finding in found.findings:
        echo(f"{finding.level.value}: [{finding.code}] {finding.message}")
    lacking = [report for report in reports if report.missing]
    for report in lacking:
        echo(
            f"missing{'' if alone else f' on {report.host}'}: {', '.join(report.missing)}\n  what"
            f" to do: {report.remedy}"
        )
    unseen = [report.host for report in reports if not report.looked]
    if unseen:
        echo(f"tools were not looked for on {', '.join(unseen)}")
    if not lacking and len(unseen) < len(reports):
        echo("every tool is there" if not unseen else "every tool is there on the others")


def _print_tools(reports: Sequence[HostReport], *, alone: bool) -> None:
    rows = [
        (
            report.host,
            ", ".join(roles),
            status.tool.executable,
            status.path or "missing",
            status.version or "unknown",
            status.tool.package,
        )
        for report in reports
        for status, roles in report.tools
    ]
    header = ("host", "for", "tool", "found", "version", "Debian package")
    if rows:
        print_table(
            *((header[2:], [row[2:] for row in dict.fromkeys(rows)]) if alone else (header, rows))
        )


def examination_to_json(found: Examination) -> dict[str, object]:
    """The document of `benchspec doctor --json`."""
    from ...engine.model.codec import encode

    statuses = dict.fromkeys(status for report in found.hosts for status, _ in report.tools)
    return {
        "hosts": [_host_to_json(report, found.findings) for report in found.hosts],
        "tools": [_tool_to_json(status) for status in statuses],
        "findings": encode(found.findings),
        "missing_packages": list(found.missing),
    }


def _host_to_json(report: HostReport, findings: Sequence[Finding]) -> dict[str, object]:
    from ...engine.model.codec import encode

    own = [finding for finding in findings if finding.message.startswith(f"{report.host}: ")]
    return {
        "site": report.site,
        "host": report.host,
        "roles": list(report.roles),
        "looked": report.looked,
        "tools": [
            {**_tool_to_json(status), "roles": list(roles)} for status, roles in report.tools
        ],
        "missing_packages": list(report.missing),
        "install": report.remedy,
        "findings": encode(own),
    }


def _tool_to_json(status: ToolStatus) -> dict[str, object]:
    return {
        "executable": status.tool.executable,
        "package": status.tool.package,
        "path": status.path,
        "version": status.version,
    }
