"""Load the installed package first: pytest imports the root ``__init__.py`` under the checkout's
own name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import benchspec as benchspec
from tests import needs

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
LONGEST = (
    "tests/test_clusters.py",
    "tests/engine/execution/test_recovery.py",
    "tests/test_mesh.py",
)

settings.register_profile(
    "shared-machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("gate", settings.get_profile("shared-machine"), derandomize=True)
settings.load_profile(
    "gate" if os.environ.get("CI") else "shared-machine"
)  # a gate asks the same questions every time


def pytest_addoption(parser: pytest.Parser) -> None:
    needs.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    needs.decide(config)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    needs.tell_worker(node)


def pytest_configure(config: pytest.Config) -> None:
    needs.configure(config)


@pytest.fixture(scope="session", autouse=True)
def _state_of_its_own() -> Generator[None, None, None]:
    """What benchspec remembers of runs and consents is no user's, and their index no team's. The
    path is short: sockets lie below it.
    """
    os.environ.pop("BENCHSPEC_STORE", None)
    before = os.environ.get("XDG_STATE_HOME")
    folder = tempfile.mkdtemp(prefix="bs-")
    os.environ["XDG_STATE_HOME"] = folder
    yield
    shutil.rmtree(folder, ignore_errors=True)
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before


@pytest.hookimpl(tryfirst=True)  # -m sees the markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Markers; what the quick loop leaves out; and the longest first, so that at the end no worker
    waits for another that has just begun one of them.
    """
    needs.mark(items)
    needs.choose(config, items)
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With BENCHSPEC_REQUIRE=all a skip is a failure, unless it only misses the shared samples that
    are not there.
    """
    report: pytest.TestReport = yield
    required = os.environ.get("BENCHSPEC_REQUIRE") == "all"
    if required and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if SHARED.is_dir() or "shared" not in reason:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} was skipped, and BENCHSPEC_REQUIRE=all makes that a failure:"
                f" {reason}"
            )
    return report
