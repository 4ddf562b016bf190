"""What is printed and rendered without measuring: help texts, schemas, plans, and the commands and
objects that a plan would use.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from .program import benchspec_in
from .replacements import Replacer

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(
    path.relative_to(ROOT / "specs")
    for path in (ROOT / "specs").rglob("*.yaml")
    if "kind: Benchmark" in path.read_text("utf-8")
)
"""The specs that are shipped, test-bed specs included."""

PRINTED: Sequence[str] = (
    "--version",
    "explain",
    "explain F520",
    "explain BS282",
    "explain cpu.model",
    "explain workloads.NAME.gates",
    "rbac",
    "rbac quickstart.yaml",
    "diff constellation-azure.yaml constellation-gcp.yaml",
    "diff quickstart.yaml testbed/cni.yaml --json",
    "migrate quickstart.yaml",
    "validate quickstart.yaml --format json",
    "schema --list",
    "schema no-such-kind",
    "completion bash",
)
"""Commands whose output is the same on every machine, in the folder of the shipped specs."""

LAUNCH_SCRIPT = re.compile(r"-\d+-[a-z]+\.(?:sh|ps1)$")
"""Rendered files that say how a program is launched: ROLE-NUMBER-ROLE.sh."""


def observe_help(folder: Path) -> dict[str, bytes]:
    """The help text of the program and of every verb."""
    shown = benchspec_in(folder, "--help").stdout.decode()
    verbs = re.findall(r"(?m)^  ([a-z-]+)  ", shown.partition("\nCommands:\n")[2])
    found = {"benchspec.txt": shown.encode()}
    return found | {f"{verb}.txt": benchspec_in(folder, verb, "--help").stdout for verb in verbs}


def observe_schemas(folder: Path) -> dict[str, bytes]:
    """Every schema as it is printed."""
    kinds = benchspec_in(folder, "schema", "--list").stdout.decode().split()
    return {f"{kind}.json": benchspec_in(folder, "schema", kind).stdout for kind in kinds}


def observe_printed(folder: Path) -> dict[str, bytes]:
    """What other commands print that measure nothing."""
    return {
        f"{re.sub('[^A-Za-z0-9.-]+', '_', line)}.txt": _transcript(folder, line) for line in PRINTED
    }


def _transcript(folder: Path, line: str) -> bytes:
    specs = folder / "specs"
    if not specs.exists():
        shutil.copytree(ROOT / "specs", specs)
    return Replacer(specs).text(benchspec_in(specs, *line.split()).transcript()).encode()


def observe_plan(spec: Path, folder: Path) -> dict[str, bytes]:
    """The plan of a shipped spec as text and as JSON, and everything it renders; how programs are
    launched is in a file of its own.
    """
    found = {"plan.txt": _transcript(folder, f"plan {spec} --render ../rendered")}
    found["plan.json.txt"] = re.sub(
        rb"(?m)^ +", b"", _transcript(folder, f"plan {spec} --json")
    )  # without indentation, it would be half of all
    files = sorted(file for file in (folder / "rendered").rglob("*") if file.is_file())
    found["launch-scripts.txt"] = _join(
        folder / "rendered", (file for file in files if LAUNCH_SCRIPT.search(file.name))
    )
    found["other-files.txt"] = _join(
        folder / "rendered", (file for file in files if not LAUNCH_SCRIPT.search(file.name))
    )
    return found


def _join(folder: Path, files: Iterable[Path]) -> bytes:
    """Files one behind the other, each below its name; of files that are the same the content
    stands once.
    """
    seen: dict[bytes, str] = {}
    parts = []
    for file in files:
        name, data = str(file.relative_to(folder)), file.read_bytes()
        same = seen.setdefault(data, name)
        parts.append(
            f"==> {name}\n".encode()
            + (data if same == name else f"(the same as {same})\n".encode())
            + b"\n"
        )
    return b"".join(parts)
