"""A job whose pod is gone ends nothing, gives nothing and is never run again."""

from __future__ import annotations

import pytest

from benchspec.runners.kubernetes.failures import PodLost
from benchspec.runners.kubernetes.pods.lost_job import LostJob


def test_waiting_and_collecting_say_which_job_went_and_why() -> None:
    job = LostJob("t1-a", "the pod was evicted")
    with pytest.raises(PodLost, match="job t1-a: the pod was evicted") as waited:
        job.wait(60)
    assert waited.value.remedy == "under this id it is not run again"
    with pytest.raises(PodLost, match="job t1-a: the pod was evicted"):
        job.collect()


def test_ending_it_changes_nothing_of_what_is_said() -> None:
    job = LostJob("t1-a", "evicted")
    job.cancel()
    job.discard()
    with pytest.raises(PodLost, match="evicted"):
        job.collect()
