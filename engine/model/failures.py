"""Of which class a failed trial is: whether the workload failed, or something around it."""

from __future__ import annotations

from enum import StrEnum


class FailureClass(StrEnum):
    """What a trial without a figure that counts says of its workload.

    ``transient``: the way to the place broke for a while. ``infrastructure``: a place, a node, a
    quota or somebody from outside ended it or kept it from starting. ``workload``: its own program,
    server, memory or output. ``invalid``: it was measured to its end, and cannot be vouched for.
    """

    TRANSIENT = "transient"
    INFRASTRUCTURE = "infrastructure"
    WORKLOAD = "workload"
    INVALID = "invalid"

    @property
    def is_from_outside(self) -> bool:
        """Whether measuring again chooses no data: nothing of the workload's own made it fail."""
        return self in (FailureClass.TRANSIENT, FailureClass.INFRASTRUCTURE)
