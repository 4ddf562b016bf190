import pytest

from benchspec.engine.model.errors import ParseError
from benchspec.workloads.diskspd import workload as diskspd
from tests.workloads.tool_goldens import by_series, completed, sample

MIB = 2.0**20


def measured(name: str) -> dict[str, float]:
    return by_series(diskspd.parse([completed(sample("diskspd", name))], {}))


def test_xml_without_rates_gives_counts_over_time() -> None:
    found = measured("pkb-diskspd_result.xml")
    assert found["iops"] == found["iops.read"] == pytest.approx(90970 / 30.02)
    assert found["throughput"] == pytest.approx(198.595e6, rel=1e-5)
    assert found["throughput"] == pytest.approx(189.395 * MIB, rel=1e-5)
    assert (found["cpu.usage"], found["cpu.user"], found["cpu.system"]) == pytest.approx(
        (0.032, 0.0025, 0.0295)
    )
    assert "iops.write" not in found


# total IOPS, MiB/s, mean ms, p99 ms, CPU, write IOPS
REPORTS = {
    "vc-DiskSpdExample-ReadWrite.txt": (1189.03, 4.64, 0.840, 4.713, 0.0082, 354.05),
    "vc-DiskSpdExample-WriteOnly.txt": (76458.71, 597.33, 6.696, 57.658, 0.0615, 76458.71),
    "vc-DiskSpdExample-WriteOnly-v2.2.0.txt": (
        2242082.85,
        8758.14,
        0.861,
        12.018,
        0.9859,
        2242082.85,
    ),
    "vc-Write8k.txt": (330118.77, 2579.05, 7.681, 368.150, 0.3969, 330118.77),
}


@pytest.mark.parametrize("name", REPORTS)
def test_text_reports_of_three_versions(name: str) -> None:
    iops, mib, mean, p99, cpu, writes = REPORTS[name]
    found = measured(name)
    assert found["iops"] == iops
    assert found["iops.write"] == writes
    assert found["throughput"] == pytest.approx(mib * MIB, abs=0.006 * MIB)
    assert (found["latency.mean"], found["latency.p99"]) == pytest.approx((mean / 1e3, p99 / 1e3))
    assert found["cpu.usage"] == pytest.approx(cpu)
    assert ("iops.read" in found) == (name == "vc-DiskSpdExample-ReadWrite.txt")


def test_read_and_write_latencies_of_a_mix_are_apart() -> None:
    found = measured("vc-DiskSpdExample-ReadWrite.txt")
    assert (found["latency.read.mean"], found["latency.read.p99"]) == pytest.approx(
        (0.272e-3, 0.877e-3)
    )
    assert (found["latency.write.mean"], found["latency.write.p99"]) == pytest.approx(
        (2.179e-3, 6.107e-3)
    )


def test_profile_is_no_result() -> None:
    with pytest.raises(ParseError, match="found a Profile"):
        measured("msdiskspd-unittest-0.xml")


def test_windows_prints_utf16() -> None:
    """Another tool's UTF-16 document: read as text, and refused for what it is."""
    with pytest.raises(ParseError, match="no diskspd result"):
        diskspd.parse([completed(sample("perfinsights", "PerfInsights_Settings.utf16.xml"))], {})
