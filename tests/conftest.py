"""Load the installed package first: pytest imports the root ``__init__.py`` under the checkout's own name."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import benchspec as benchspec

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
LONGEST = ("tests/test_clusters.py", "tests/execute/test_recovery.py", "tests/test_mesh.py")

settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.register_profile("gate", settings.get_profile("shared-machine"), derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "shared-machine")  # a gate asks the same questions every time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that at the end no worker waits for another that has just begun one of them."""
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With BENCHSPEC_REQUIRE=all a skip is a failure, unless it only misses the shared samples that are not there."""
    report: pytest.TestReport = yield
    required = os.environ.get("BENCHSPEC_REQUIRE") == "all"
    if required and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if SHARED.is_dir() or "shared" not in reason:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped, and BENCHSPEC_REQUIRE=all makes that a failure: {reason}"
    return report
