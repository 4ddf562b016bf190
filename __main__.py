"""``python -m benchspec``."""

from .cli import main

main()
