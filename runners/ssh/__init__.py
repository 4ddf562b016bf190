"""The SSH runner: programs on hosts that are there already, detached, one connection per host for
the whole run.
"""

from __future__ import annotations

from ...engine.model.contract.runner import Runner
from .runner import SshRunner

RUNNER: Runner = SshRunner()
"""What the registry hands out."""
