"""The Kubernetes runner: roles are pods of one namespace; programs run detached inside them, so
that nothing depends on a connection.
"""

from __future__ import annotations

from ...engine.model.contract.runner import Runner
from .runner import KubernetesRunner

RUNNER: Runner = KubernetesRunner()
"""What the registry hands out."""
