"""What would be run on a Windows host, as PowerShell scripts. This version runs nothing there;
people can.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.model.contract.values import Command, RenderedFile
from ...engine.planning.powershell import call, literal

STATE = r"C:\ProgramData\benchspec"
"""Where work directories would be."""


def workdir(configured: str, role: str) -> str:
    """A stand-in for the work directory of a role."""
    parent = (configured or STATE).rstrip("\\/")
    return rf"{parent}\benchspec-RUN\{role}"


def script(
    name: str, command: Command, host: str, folder: str, cpus: Sequence[int], remark: str
) -> RenderedFile:
    """One program as a script that ends with the program's exit code. Raises SpecError for
    arguments that PowerShell cannot hand over.
    """
    lines = [f"# role {command.role} on host {host}; {remark}"]
    if command.secrets:
        lines.append(
            "# secrets, handed over in the environment and never written:"
            f" {', '.join(sorted(command.secrets))}"
        )
    if command.fetch:
        lines.append(f"# fetched afterwards: {', '.join(map(literal, command.fetch))}")
    lines.append(f"Set-Location -LiteralPath {literal(folder)} -ErrorAction Stop")
    lines += [
        f"[Environment]::SetEnvironmentVariable({literal(key)}, {literal(value)})"
        for key, value in sorted(command.env.items())
    ]
    if cpus:  # child processes inherit it
        lines.append(
            f"(Get-Process -Id $PID).ProcessorAffinity = {sum(1 << cpu for cpu in set(cpus))}"
        )
    lines += [call(command.argv), "exit $LASTEXITCODE"]
    return RenderedFile(
        name=name, data=("\r\n".join(lines) + "\r\n").encode("utf-8", "surrogateescape")
    )
