import pytest

from benchspec.workloads import fortio
from tests.workloads.tool_goldens import Golden, check, goldens


@pytest.mark.parametrize("case", goldens("fortio"), ids=lambda case: case.name)
def test_golden_output(case: Golden) -> None:
    check(fortio, case)
