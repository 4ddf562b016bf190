"""kubestr's JSON is fio's in a wrapper, written anew without zeros: what is left out is no figure,
and its failures speak in its own words.
"""

from __future__ import annotations

import json
import re

import pytest

from benchspec.engine.importing import kubestr
from benchspec.engine.importing.readers import parse_output
from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.spec import Json
from benchspec.workloads.fio import workload as fio
from tests.workloads.tool_goldens import DATA, by_series, completed, sample


def without_zeros(value: Json) -> Json:
    """As Go writes structs whose fields say omitempty."""
    if isinstance(value, dict):
        return {
            key: kept
            for key, inner in value.items()
            if (kept := without_zeros(inner)) not in (0, "", None)
        }
    return [without_zeros(one) for one in value] if isinstance(value, list) else value


CLASS: Json = {
    "metadata": {"name": "fast"},
    "provisioner": "csi.example",
    "parameters": {"type": "ssd"},
    "volumeBindingMode": "Immediate",
}


def wrapped(**raw: Json) -> bytes:
    status: Json = [{"StatusCode": "OK", "StatusMessage": "Fio test completed successfully."}]
    return (
        json.dumps([{"TestName": "FIO test results", "Status": status, "Raw": raw or None}])
        .replace(">", "\\u003e")
        .encode()
    )


def test_figures_are_those_of_the_fio_document() -> None:
    own = (DATA / "fio" / "preset-kubestr.out").read_bytes()
    document: Json = {**json.loads(own), "iodepth_level": {">=64": 99.5}}
    document = without_zeros(document)
    raw = wrapped(
        size="2Gi", storageClass=CLASS, fioConfig="[read_iops]\nrw=randread\n", result=document
    )
    assert b"\\u003e=64" in raw
    outcome = kubestr.read(raw)
    direct, found = by_series(fio.parse([completed(own)], {})), by_series(outcome.measurements)
    assert {series: found[series] for series in found if "error" not in series} == {
        s: v for s, v in direct.items() if "error" not in s
    }
    assert outcome.job_file == "[read_iops]\nrw=randread\n"
    assert outcome.storage == {
        "class": "fast",
        "provisioner": "csi.example",
        "parameters": "type=ssd",
        "binding": "Immediate",
        "size": 2**31,
    }
    assert not [series for series in found if series.startswith("latency")]


def test_what_was_printed_before_it_is_skipped() -> None:
    document: Json = without_zeros(json.loads((DATA / "fio" / "preset-kubestr.out").read_bytes()))
    assert kubestr.parse(
        b"PVC created kubestr-fio-pvc-x\nElapsed time- 20s\n" + wrapped(result=document)
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "found no JSON in the output of kubestr"),
        (
            wrapped(),
            (
                "kubestr's Raw is None, expected what fio measured; kubestr says: Fio test"
                " completed successfully."
            ),
        ),
        (wrapped(size="1Gi"), "kubestr's Raw.result is None"),
        (wrapped(result={"jobs": []}), "no jobs"),
        (wrapped(result={"jobs": [{"jobname": "a", "read": {"iops": 5.5}}]}), "did no I/O"),
        (
            (
                b'[{"TestName": "x", "Status": [{"StatusCode": "Error", "StatusMessage": "no'
                b' StorageClass fast"}], "Raw": null}]'
            ),
            "no StorageClass fast",
        ),
        (b'[{"jobs": []}, {"jobs": []}]', "found 2 tests of kubestr, expected one"),
        (b'{"fio version": "fio-3.33"}', "found no tests of kubestr"),
        (wrapped(result={"jobs": []})[:-20], "cut or malformed"),
    ],
)
def test_what_is_broken_is_refused_with_the_place(data: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=re.escape(said)):
        kubestr.parse(data)


def test_the_published_run_of_constellation() -> None:
    found = by_series(
        parse_output("kubestr", sample("kubestr", "constellation-azure-2023-03-09.json"), {})
    )
    assert found["iops.read{job=read_iops}"] == 2165.847
    assert found["iops.write{job=write_iops}"] == 219.97105
    assert found["throughput.read{job=read_bw}"] == pytest.approx(184151 * 1024, rel=1e-4)
    assert found["throughput.write{job=write_bw}"] == pytest.approx(18604 * 1024, rel=1e-4)


def test_the_combined_record_holds_the_same_figures() -> None:
    combined = json.loads(sample("constellation-combined", "constellation-azure.json"))
    storage = by_series(
        parse_output("kubestr", sample("kubestr", "constellation-azure-2023-03-09.json"), {})
    )
    network = by_series(
        parse_output("knb", sample("knb", "constellation-azure-2023-03-09.json"), {})
    )
    assert storage["iops.read{job=read_iops}"] == combined["fio"]["read_iops"]["iops"]
    assert storage["iops.write{job=write_iops}"] == combined["fio"]["write_iops"]["iops"]
    for path, key in (("pod-to-pod", "pod2pod"), ("pod-to-service", "pod2svc")):
        for protocol in ("tcp", "udp"):
            assert (
                network[f"throughput{{path={path},protocol={protocol}}}"]
                == combined["knb"][key][f"{protocol}_bw_mbit"] * 1e6
            )
    assert network["mtu"] == combined["knb"]["mtu"]
