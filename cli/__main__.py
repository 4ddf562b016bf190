"""``python -m benchspec.cli``."""

from . import main

main()
