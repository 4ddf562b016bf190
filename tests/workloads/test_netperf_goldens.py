import pytest

from benchspec.workloads import netperf
from tests.workloads.tool_goldens import Golden, check, goldens


@pytest.mark.parametrize("case", goldens("netperf"), ids=lambda case: case.name)
def test_golden_output(case: Golden) -> None:
    check(netperf, case)
