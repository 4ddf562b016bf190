"""``python -m tests.golden --write GROUP...`` makes golden files anew, all unless groups are named;
without --write they are compared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .files import DIRECTORY, GROUPS, differences, write


def main() -> int:
    """Do what the arguments say; the exit code is 1 when a golden file differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden",
        description="Golden files: what the program prints and writes, byte for byte.",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"make them anew in {DIRECTORY}; read the difference then",
    )
    parser.add_argument(
        "groups",
        nargs="*",
        metavar="GROUP",
        help="such as help, plans/testbed or runs/gate; all unless given",
    )
    arguments = parser.parse_args()
    differ = 0
    for name in [
        name for name in GROUPS if not arguments.groups or name.startswith(tuple(arguments.groups))
    ]:
        with tempfile.TemporaryDirectory(prefix="golden-") as folder:
            found = GROUPS[name](Path(folder).resolve() / "folder")
        difference = differences(name, found)
        if arguments.write and difference:
            write(name, found)
        print(f"{name}: {len(found)} files{', they differ' if difference else ''}")
        if difference and not arguments.write:
            print(difference)
        differ += bool(difference)
    return 1 if differ and not arguments.write else 0


if __name__ == "__main__":
    sys.exit(main())
