"""Imports paramiko without the library invoke, which it would use for ``Match exec`` in ssh_config
alone.

That is never executed here (docs/adr/0011-nothing-of-a-specs-ssh-config-is-executed.md): now it
could not be, either, and the import takes a third less time.
"""

from __future__ import annotations

import importlib
import sys

if "invoke" not in sys.modules and "paramiko" not in sys.modules:
    sys.modules["invoke"] = None  # type: ignore[assignment]  # what makes importing it fail, as paramiko expects where it is not installed
    try:
        importlib.import_module("paramiko")
    finally:
        del sys.modules["invoke"]
