"""What benchmarks do where what they wait for does not come."""

from __future__ import annotations

import pytest

from benchmarks.pods import _await


def test_a_watch_that_ends_before_the_event_is_a_clear_error() -> None:
    watched = iter(
        [
            {"status": {"phase": "Pending"}},
            {"status": {"phase": "Succeeded"}},
            {"status": {"phase": "Succeeded"}},
        ]
    )
    _await(watched, lambda pod: pod["status"]["phase"] == "Succeeded", "it ended well")
    with pytest.raises(RuntimeError, match="it was not seen within 120 s that it was gone"):
        _await(watched, lambda pod: pod.get("_deleted") is True, "it was gone")
