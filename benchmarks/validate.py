"""What validating costs, beside check-jsonschema, which knows nothing of tools and rules: one spec from a cold start, and a thousand in one call.

    python -m benchmarks.validate [--specs 1000] [--repeats 9]

Goals: one spec in at most 0.5 of check-jsonschema's time; a thousand in at most 0.2 of it, with schemas of tools and runners and all rules. Both
are whole processes, run in turn; ratios of medians hold on a shared machine, wall times do not. Compile the byte code before (unset
PYTHONDONTWRITEBYTECODE), or every start pays for it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchspec.engine.schema import read_schema_bytes

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "specs" / "constellation-azure.yaml"
OURS = [sys.executable, "-c", "from benchspec.cli import main; main()", "validate", "--quiet"]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--specs", type=int, default=1000)
    options.add_argument("--repeats", type=int, default=9)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder) / "schema.json"
        schema.write_bytes(read_schema_bytes())
        theirs = [shutil.which("check-jsonschema") or str(Path(sys.executable).with_name("check-jsonschema")), "--schemafile", str(schema)]
        compare("one spec", given.repeats, theirs, [str(SPEC)])
        compare(f"{given.specs} specs in one call", 3, theirs, copies(Path(folder), given.specs))


def copies(folder: Path, count: int) -> list[str]:
    """``count`` specs of about 130 lines that differ in their name."""
    text = SPEC.read_text(encoding="utf-8")
    paths = [folder / f"spec-{number}.yaml" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(text.replace("name: constellation-azure", f"name: constellation-azure-{number}", 1), encoding="utf-8")
    return [str(path) for path in paths]


def compare(title: str, repeats: int, theirs: Sequence[str], specs: list[str]) -> None:
    """Run both in turn and print medians and their ratio."""
    times: dict[str, list[float]] = {"ours": [], "check-jsonschema": []}
    for _ in range(repeats):
        for name, command in (("check-jsonschema", theirs), ("ours", OURS)):
            began = time.perf_counter()
            subprocess.run([*command, *specs], check=True, stdout=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - began)
    ours, other = statistics.median(times["ours"]), statistics.median(times["check-jsonschema"])
    each = f"{1e3 * ours / len(specs):.2f} ms per spec"
    print(f"{title}: {1e3 * ours:.0f} ms ({each}), check-jsonschema {1e3 * other:.0f} ms, ratio {ours / other:.2f}")


if __name__ == "__main__":
    main()
