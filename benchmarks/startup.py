"""What a start costs: ``--help`` beside a bare click program with as many commands, and ``validate`` beside check-jsonschema.

    python -m benchmarks.startup [--rounds 15] [--many 1000]

Run it with the interpreter of an environment into which benchspec was installed (not in editable mode) with the peers of
benchmarks/requirements.txt: what is measured is the installed program. Goals: help at most 1.5 times click; one spec at most 0.6 of
check-jsonschema; a thousand specs in one call at least 5 times faster.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from benchspec.cli.app import VERBS
from benchspec.engine.schema import read_schema_bytes

from .timing import Cost, find, in_turn, machine, median_ratio, use_bytecode

SPECS = Path(__file__).parents[1] / "specs"
LONG = "azure-disk-encryption-standard.yaml"
CLICK = """
import click

@click.group()
def app():
    "A bare program."

for name in {names!r}:
    app.command(name, short_help="What it does in a line.")(lambda: None)
app()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--many", type=int, default=1000)
    options = parser.parse_args()
    use_bytecode()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options.rounds, options.many)


def measure(folder: Path, rounds: int, many: int) -> None:
    """Write the files that are needed into ``folder``, measure, print a table."""
    benchspec, peer = find("benchspec"), find("check-jsonschema")
    if benchspec is None:
        raise SystemExit("there is no program benchspec beside this interpreter: install benchspec into its environment")
    schema, bare = folder / "schema.json", folder / "bare.py"
    schema.write_bytes(read_schema_bytes())
    bare.write_text(CLICK.format(names=list(VERBS)))
    text = plain_spec()
    one, several = write_specs(folder / "one", text, 1), write_specs(folder / "many", text, many)
    print(f"{machine()}; medians of {rounds} rounds in turn\n")
    print("| command | wall ms | CPU ms | ratio (wall) | ratio (CPU) | goal |\n|---|---|---|---|---|---|")
    help_ = {"python -c pass": (sys.executable, "-c", "pass"), "bare click program --help": (sys.executable, str(bare), "--help")}
    table(in_turn({**help_, "benchspec --help": (benchspec, "--help")}, rounds), "bare click program --help", "<= 1.5")
    for specs, times, goal in ((one, rounds, "<= 0.6"), (several, 3, "<= 0.2")):
        lines = f"{len(specs)} x {len(text.splitlines())} lines"
        commands: dict[str, Sequence[str]] = {f"benchspec validate, {lines}": (benchspec, "validate", "--quiet", *specs)}
        if peer is not None:
            commands = {f"check-jsonschema, {lines}": (peer, "--schemafile", str(schema), *specs), **commands}
        table(in_turn(commands, times), f"check-jsonschema, {lines}", goal)
    if peer is None:
        print("| check-jsonschema | not installed | | | | |")


def plain_spec() -> str:
    """A long shipped spec with its variables put in, since a bare schema validator does not know them."""
    text = (SPECS / LONG).read_text(encoding="utf-8")
    for name, value in yaml.safe_load(text)["vars"].items():
        text = text.replace("${var:" + name + "}", str(value))
    return re.sub(r"^vars:\n(?:[ \t].*\n|\n)+", "", text, flags=re.MULTILINE)


def write_specs(folder: Path, text: str, count: int) -> list[str]:
    """``count`` specs that differ in their names."""
    folder.mkdir()
    paths = [folder / f"{number}.yaml" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(re.sub(r"^name: .*$", f"name: spec-{number}", text, count=1, flags=re.MULTILINE), encoding="utf-8")
    return [str(path) for path in paths]


def table(costs: Mapping[str, Sequence[Cost]], yardstick: str, goal: str) -> None:
    """One row per command; ratios to ``yardstick``, round by round."""
    for name, seen in costs.items():
        ratios = ""
        if name.startswith("benchspec") and yardstick in costs:
            beside = costs[yardstick]
            wall = median_ratio([c.wall_s for c in seen], [c.wall_s for c in beside])
            ratios = f"{wall:.2f} | {median_ratio([c.cpu_s for c in seen], [c.cpu_s for c in beside]):.2f} | {goal}"
        wall_ms, cpu_ms = (1e3 * statistics.median(values) for values in ([c.wall_s for c in seen], [c.cpu_s for c in seen]))
        print(f"| {name} | {wall_ms:.0f} | {cpu_ms:.0f} | {ratios or ' | | '} |")


if __name__ == "__main__":
    main()
