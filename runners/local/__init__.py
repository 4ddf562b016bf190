"""The local runner: programs on this host, detached, in process groups of their own."""

from __future__ import annotations

from ...engine.model.contract.runner import Runner
from .runner import LocalRunner

RUNNER: Runner = LocalRunner()
"""What the registry hands out."""
