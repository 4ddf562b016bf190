"""What validating costs, beside check-jsonschema, which knows nothing of tools and rules: one spec
from a cold start, and a thousand in one call.

    python -m benchmarks.validate [--specs 1000] [--rounds 15]

Goals: one spec in at most 0.6 of check-jsonschema's time; a thousand in at most 0.2 of it, with the
schemas of tools and runners and all rules. All are whole processes, run in turn, with the
interpreter of an environment into which benchspec and benchmarks/requirements.txt were installed.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchspec.engine.language.schema.registry import read_schema_bytes

from .timing import find, in_turn, machine, print_costs, use_bytecode

SPEC = Path(__file__).parents[1] / "specs" / "azure-disk-encryption-standard.yaml"
MANY_ROUNDS = 3


def main() -> None:
    """Print a table of medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--specs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    use_bytecode()
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder) / "schema.json"
        schema.write_bytes(read_schema_bytes())
        print(
            f"{machine()}; medians of {options.rounds} rounds in turn ({MANY_ROUNDS} for many"
            " specs)\n"
        )
        compare(str(schema), [str(SPEC)], options.rounds, "<= 0.6")
        compare(str(schema), copies(Path(folder), options.specs), MANY_ROUNDS, "<= 0.2")


def copies(folder: Path, count: int) -> list[str]:
    """``count`` specs that differ in their names."""
    text = SPEC.read_text(encoding="utf-8")
    paths = [folder / f"spec-{number}.yaml" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(
            re.sub(r"^name: .*$", f"name: spec-{number}", text, count=1, flags=re.MULTILINE),
            encoding="utf-8",
        )
    return [str(path) for path in paths]


def compare(schema: str, specs: Sequence[str], rounds: int, goal: str) -> None:
    """Run both in turn."""
    ours, peer = find("benchspec"), find("check-jsonschema")
    if ours is None or peer is None:
        raise SystemExit(
            "benchspec and check-jsonschema must be installed in this interpreter's environment"
        )
    size = f"{len(specs)} x {len(SPEC.read_text(encoding='utf-8').splitlines())} lines"
    theirs, mine = f"check-jsonschema, {size}", f"benchspec validate, {size}"
    commands = {
        theirs: (peer, "--schemafile", schema, *specs),
        mine: (ours, "validate", "--quiet", *specs),
    }
    print_costs(in_turn(commands, rounds), yardstick=theirs, goals={mine: goal})


if __name__ == "__main__":
    main()
