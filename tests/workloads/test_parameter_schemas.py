"""What the schemas of single tools say beyond what every schema must (test_every_tool.py), and
parameters that they refuse.
"""

from __future__ import annotations

import pytest

from benchspec.engine.model.spec import Json
from benchspec.workloads.fio import job_files as fio_jobs
from benchspec.workloads.fio.presets import PRESETS
from tests.workloads.tools import accepts, schema_of


def test_defaults_of_fio_and_its_presets() -> None:
    definitions = schema_of("fio")["$defs"]
    plain = fio_jobs.job_file({"jobs": [{"name": "a", "rw": "read"}, {"name": "b", "rw": "read"}]})
    for name, default in {
        name: field["default"] for name, field in definitions.items() if "default" in field
    }.items():
        assert (
            fio_jobs.job_file(
                {name: default, "jobs": [{"name": "a", "rw": "read"}, {"name": "b", "rw": "read"}]}
            )
            == plain
        ), name
    assert schema_of("fio")["properties"]["preset"]["enum"] == list(PRESETS)
    for preset in PRESETS.values():
        assert accepts("fio", {**preset.settings, "jobs": list(preset.jobs)})
    assert accepts("fio", {"rw": "read", "jobs": [{"name": "a"}, {"name": "b", "rw": "write"}]})


def test_every_setting_of_a_fio_job_reaches_the_job_file() -> None:
    schema = schema_of("fio")
    settings = set(schema["properties"]["jobs"]["items"]["properties"]) - {"name", "rw"}
    assert settings == set(schema["properties"]) - {
        *("jobs", "preset", "job_text", "directory", "destroys", "rw")
    }
    first: dict[str, Json] = {"name": "first", "rw": "read"}
    plain = fio_jobs.job_file({"jobs": [first, {"name": "a", "rw": "read"}]})
    for name in settings:
        field = schema["$defs"][name]
        value = (
            not field.get("default", False)
            if field["type" if "type" in field else "enum"] == "boolean"
            else field["examples"][-1]
        )
        assert (
            fio_jobs.job_file({"jobs": [first, {"name": "a", "rw": "read", name: value}]}) != plain
        ), name


INVALID: list[tuple[str, dict[str, Json]]] = [
    ("fio", {}),
    ("fio", {"size": "1 GiB"}),
    ("fio", {"jobs": [{"name": "a"}]}),
    ("fio", {"rw": "randreed"}),
    ("fio", {"engine": "nosuch"}),
    ("fio", {"ioengine": "libaio"}),
    ("fio", {"rw": "read", "size": 5}),
    ("fio", {"rw": "read", "filename": "/dev/sda"}),
    ("fio", {"rw": "read", "filename": "../x"}),
    ("fio", {"rw": "read", "directory": "relative"}),
    ("pgbench", {"script": "\\set a 1\n \\SetShell a id\n"}),
    ("pgbench", {"script": "\\shell id"}),
    ("stress-ng", {"stressors": [{"name": "dev", "options": {"dev-file": "/dev/sda"}}]}),
    ("fio", {"rw": "read", "cpus_allowed": "0;1"}),
    ("fio", {"jobs": [{"rw": "read"}]}),
    ("fio", {"jobs": [{"name": "a b", "rw": "read"}]}),
    ("fio", {"jobs": [{"name": "a", "rw": "read", "exec_prerun": "true"}]}),
    ("fio", {"jobs": []}),
    ("fio", {"preset": "nosuch"}),
    ("fio", {"job_text": "[a]\nrw=read", "rw": "write"}),
    ("fio", {"job_text": "[a]\nrw=read", "jobs": [{"name": "a", "rw": "read"}]}),
    ("iperf3", {"reverse": True, "bidir": True}),
    ("iperf3", {"streams": 0}),
    ("iperf3", {"streams": True}),
    ("iperf3", {"congestion": "--logfile=/x"}),
    ("iperf3", {"protocol": "sctp"}),
    ("openssl-speed", {"algorithm": "-engine"}),
    ("openssl-speed", {"algorithm": "sha256", "signature": "rsa2048"}),
    ("command", {}),
    ("command", {"run": "ls -l"}),
    ("command", {"run": []}),
    ("command", {"run": ["x"], "stdin": "y"}),
    ("command", {"run": ["x"], "files": {"../x": "y"}}),
    ("command", {"run": ["x"], "env": {"A=B": "c"}}),
    ("command", {"run": ["x"], "extract": {"a": {"regex": "(x)", "jsonpath": "$"}}}),
    ("command", {"run": ["x"], "extract": {"a": {"unit": "ms"}}}),
    ("command", {"run": ["x"], "extract": {"a": {"regex": "(x)", "unit": "Mb"}}}),
    ("command", {"run": ["x"], "extract": {"A": {"regex": "(x)"}}}),
    ("command", {"run": ["x"], "extract": {"a": {"regex": "(x)", "labels": {"k": "a,b"}}}}),
    ("netperf", {"test": "TCP_SENDFILE"}),
    ("netperf", {"duration": "1.5 s"}),
    ("netperf", {"duration": "0 s"}),
    ("netperf", {"test": "TCP_RR", "message_size": "1 KiB"}),
    ("netperf", {"request_size": "1 B"}),
    ("netperf", {"confidence": {"min": 2}}),
    ("netperf", {"stream": 3}),
    ("fortio", {"url": "-version"}),
    ("fortio", {"url": "http://a b"}),
    ("fortio", {"headers": ["no colon"]}),
    ("fortio", {"headers": ["A: b\r\nC: d"]}),
    ("fortio", {"path": "x"}),
    ("vault-benchmark", {"address": "https://v", "tests": []}),
    (
        "vault-benchmark",
        {"address": "https://v", "tests": [{"type": "a", "name": "total", "weight": 100}]},
    ),
    (
        "vault-benchmark",
        {
            "address": "https://v",
            "token": "hvs.plain",
            "tests": [{"type": "a", "name": "b", "weight": 100}],
        },
    ),
    ("vault-benchmark", {"tests": [{"type": "a", "name": "b", "weight": 100}]}),
    ("diskspd", {"path": "#1"}),
    ("diskspd", {"path": "X:"}),
    ("diskspd", {"path": "X:\\"}),
    ("diskspd", {"path": "\\\\.\\PhysicalDrive1"}),
    ("diskspd", {"path": 'a"b'}),
    ("diskspd", {"path": "X:\\dir\\"}),
    ("diskspd", {"duration": "90"}),
]


@pytest.mark.parametrize(("tool", "parameters"), INVALID)
def test_invalid_parameters_are_refused(tool: str, parameters: dict[str, Json]) -> None:
    assert not accepts(tool, parameters)
