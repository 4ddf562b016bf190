"""What a start costs: ``--help`` beside a bare click program with as many commands, and beside
other programs for benchmarks and specs.

    python -m benchmarks.startup [--rounds 15]

Run it with the interpreter of an environment into which benchspec was installed (not in editable
mode) with the peers of benchmarks/requirements.txt: what is measured is the installed program. The
goal is at most 1.5 times click.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchspec.cli.app import VERBS

from .timing import find, in_turn, machine, print_costs, use_bytecode

PEERS = ("check-jsonschema", "pyperf", "jube", "reframe")
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
    """Print a table of medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    use_bytecode()
    found = {name: path for name in ("benchspec", *PEERS) if (path := find(name))}
    if "benchspec" not in found:
        raise SystemExit(
            "there is no program benchspec beside this interpreter: install benchspec into its"
            " environment"
        )
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(CLICK.format(names=list(VERBS)))
        commands = {
            "python -c pass": (sys.executable, "-c", "pass"),
            "bare click program --help": (sys.executable, str(bare), "--help"),
        }
        costs = in_turn(
            {**commands, **{f"{name} --help": (path, "--help") for name, path in found.items()}},
            rounds,
        )
    print(f"{machine()}; medians of {rounds} rounds in turn\n")
    print_costs(costs, yardstick="bare click program --help", goals={"benchspec --help": "<= 1.5"})
    for name in set(PEERS) - set(found):
        print(f"| {name} --help | not installed | | | | |")


if __name__ == "__main__":
    main()
