from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from benchspec.engine.model.contract.values import Completed
from benchspec.engine.model.contract.workload import Workload
from benchspec.engine.model.errors import ParseError, SpecError
from benchspec.engine.model.spec import Json, Role
from benchspec.workloads.fio import job_files as fio_jobs
from benchspec.workloads.fio import workload as fio
from tests.workloads import trial
from tests.workloads.tool_goldens import DATA, Golden, by_series, completed, goldens, sample

WORKLOAD: Workload = fio


def documents(case: Golden) -> list[dict[str, Json]]:
    """Every document in a golden output, read by a plain scan for lines that open and close one."""
    text = case.outputs[0].decode()
    return [
        json.loads("{" + chunk.partition("\n}")[0] + "\n}")
        for chunk in ("\n" + text).split("\n{")[1:]
    ]


@pytest.mark.parametrize(
    "case", [c for c in goldens("fio") if c.measurements], ids=lambda case: case.name
)
def test_golden_figures_are_those_of_the_document(case: Golden) -> None:
    """Held against the document itself, without the parser's code: sums over the entries of one
    name.
    """
    jobs = documents(case)[-1]["jobs"]
    assert isinstance(jobs, list)
    expected = case.measurements or {}
    for name in {job["jobname"] for job in jobs}:
        same = [job for job in jobs if job["jobname"] == name]
        for direction in ("read", "write", "mixed"):
            iops = sum(job.get(direction, {}).get("iops", 0) for job in same)
            assert expected.get(f"iops.{direction}{{job={name}}}", 0) == pytest.approx(iops)
            rate = sum(job.get(direction, {}).get("bw_bytes", 0) for job in same)
            assert expected.get(f"throughput.{direction}{{job={name}}}", 0) == pytest.approx(rate)


CROSS_CHECK = {
    "fioplot-3.1-randread-1-1.json": {
        "iops.read{job=random-read}": 6614.07,
        "throughput.read{job=random-read}": 26456 * 1024,
        "latency.read.mean{job=random-read}": 135.6e-6,
        "latency.read.p99{job=random-read}": 142.3e-6,
    },
    "kubestr-testdata-fio-3.20.json": {
        "iops.read{job=read_iops}": 982.05,
        "iops.write{job=write_iops}": 390.53,
    },
    "local-3.33-gtod_reduce.json": {"iops.read{job=j}": 7244.89},
    "local-3.33-json-and-normal.txt": {
        "iops.read{job=j}": 8519.74,
        "latency.read.mean{job=j}": 116.3e-6,
        "latency.read.p99{job=j}": 2277.4e-6,
    },
    "local-3.33-jsonplus.json": {"iops.read{job=j}": 10645.68, "latency.read.p99{job=j}": 522.2e-6},
    "local-3.33-latpercentiles.json": {
        "iops.read{job=j}": 7267.37,
        "latency.read.p99{job=j,latency=total}": 1974.3e-6,
    },
    "local-3.33-libaio-buffered.json": {
        "iops.read{job=j}": 11477.52,
        "latency.read.mean{job=j}": 1300.6e-6,
        "latency.read.p99{job=j}": 7962.6e-6,
    },
    "local-3.33-randrw-numjobs3-group.json": {
        "iops.read{job=j}": 15674.83,
        "iops.write{job=j}": 6814.19,
        "latency.write.p99{job=j}": 69.1e-6,
    },
    "local-3.33-randrw-numjobs3-nogroup.json": {
        "iops.read{job=j}": 24482.42,
        "iops.write{job=j}": 10503.04,
    },
    "local-3.33-seed0-shape.json": {
        "iops.read{job=read_iops}": 7845.05,
        "iops.write{job=write_iops}": 6851.77,
        "iops.read{job=read_bw}": 781.91,
        "latency.write.p99{job=write_bw}": 4358.1e-6,
    },
    "local-3.33-status-interval-multidoc.json": {
        "iops.read{job=j}": 5794.81,
        "latency.read.p99{job=j}": 3260.4e-6,
    },
    "local-3.33-unified-mixed.json": {
        "iops.mixed{job=j}": 15671.45,
        "latency.mixed.mean{job=j}": 51.4e-6,
        "latency.mixed.p99{job=j}": 577.5e-6,
    },
    "local-3.33-write-fsync.json": {
        "iops.write{job=j}": 140.97,
        "latency.write.mean{job=j}": 1075.6e-6,
    },
}


@pytest.mark.parametrize("name", CROSS_CHECK)
def test_samples_give_the_figures_that_were_read_off_them(name: str) -> None:
    found = by_series(fio.parse([completed(sample("fio", name))], {}))
    for series, value in CROSS_CHECK[name].items():
        assert found[series] == pytest.approx(value, rel=1e-3)


def test_recorded_kubestr_run() -> None:
    found = by_series(
        fio.parse([completed(sample("kubestr", "constellation-azure-2023-03-09.json"))], {})
    )
    assert found["iops.read{job=read_iops}"] == 2165.847
    assert found["iops.write{job=write_iops}"] == 219.97105
    assert found["throughput.read{job=read_bw}"] == pytest.approx(184151 * 1024, rel=1e-4)
    assert found["throughput.write{job=write_bw}"] == pytest.approx(18604 * 1024, rel=1e-4)
    assert not [
        series for series in found if series.startswith("latency") or "write{job=read" in series
    ], "omitted zeros are no figures"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ns", 'namespaces "default" not found'),
        ("nodes", "no nodes match"),
        ("sc", "cannot find StorageClass"),
        ("pvc", "exceeded quota"),
        ("noapi", "connection refused"),
    ],
)
def test_kubestr_failure_is_told_in_its_own_words(name: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        fio.parse([completed(sample("kubestr", f"local-ERROR-{name}.json"))], {})


def document(direction: dict[str, Json], **entry: Json) -> bytes:
    return json.dumps({"jobs": [{"jobname": "j", "error": 0, "read": direction, **entry}]}).encode()


def test_fio_2_latencies_are_microseconds_and_bandwidth_kib() -> None:
    old = document(
        {
            "iops": 100,
            "bw": 400,
            "runtime": 1000,
            "clat": {"min": 5, "max": 900, "mean": 80.5, "percentile": {"99.000000": 700}},
        }
    )
    found = by_series(fio.parse([completed(old)], {}))
    assert found["throughput.read{job=j}"] == 409600
    assert found["latency.read.mean{job=j}"] == pytest.approx(80.5e-6)
    assert found["latency.read.p99{job=j}"] == pytest.approx(700e-6)
    assert "samples{direction=read,job=j}" not in found


@pytest.mark.parametrize(
    "broken",
    [
        {"iops": 0, "bw": 0},
        {"iops": 10, "bw": 0},
        {"iops": 10},
        {"iops": -1, "bw": 5},
        {"iops": 10, "bw": 5, "total_ios": 0},
        {"iops": 10, "bw": 5, "runtime": 0},
        {"iops": "10", "bw": 5},
        {"iops": True, "bw": 5},
        {"iops": None, "bw": 5},
    ],
)
def test_a_job_whose_rate_was_not_measured_is_an_error(broken: dict[str, Json]) -> None:
    with pytest.raises(ParseError, match="did no I/O"):
        fio.parse([completed(document(broken))], {})


@pytest.mark.parametrize("figure", ["NaN", "nan", "-nan", "inf", "-Infinity", "1e999", "9" * 400])
def test_a_rate_that_is_no_number_is_an_error(figure: str) -> None:
    raw = document({"iops": 12345, "bw": 5}).replace(b"12345", figure.encode())
    with pytest.raises(ParseError):
        fio.parse([completed(raw)], {})


def test_processes_whose_sum_is_no_number_are_an_error() -> None:
    job = {"jobname": "j", "read": {"iops": 1.5e308, "bw": 5}}
    with pytest.raises(ParseError, match="too large to be real"):
        fio.parse([completed(json.dumps({"jobs": [job, job]}).encode())], {})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"jobs": [{"read": {}}]}, "a job without a name"),
        ({"jobs": []}, "no jobs"),
        ({"other": 1}, "no jobs"),
        ([{"Raw": None}, {"Raw": None}], "found 2 tests in kubestr's output"),
        ([{"Raw": {"result": {}}}], "no jobs"),
        ({"jobs": [{"jobname": "j", "error": "five"}]}, "says error 'five'"),
        ({"jobs": [{"jobname": "j", "error": 22}]}, "EINVAL"),
        ({"jobs": [{"jobname": "j", "error": 4000}]}, "error 4000"),
    ],
)
def test_documents_that_are_no_result(document: Json, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        fio.parse([completed(json.dumps(document).encode())], {})


def test_counted_errors_are_a_ratio() -> None:
    found = by_series(
        fio.parse([completed(document({"iops": 10, "bw": 40, "total_ios": 97}, total_err=3))], {})
    )
    assert found["error.ratio{job=j}"] == pytest.approx(0.03)


def test_percentiles_of_several_processes_are_left_out_and_means_weighted() -> None:
    def process(mean: float, count: int) -> dict[str, Json]:
        latency: dict[str, Json] = {
            "N": count,
            "min": mean / 2,
            "max": mean * 2,
            "mean": mean,
            "percentile": {"99.000000": mean},
        }
        return {
            "jobname": "j",
            "read": {"iops": 10, "bw": 40, "runtime": 1000, "total_ios": count, "clat_ns": latency},
        }

    raw = json.dumps({"jobs": [process(1000, 1), process(2000, 3)]}).encode()
    found = by_series(fio.parse([completed(raw)], {}))
    latencies = {series: value for series, value in found.items() if series.startswith("latency")}
    assert latencies == pytest.approx(
        {
            "latency.read.mean{job=j}": 1.75e-6,
            "latency.read.min{job=j}": 0.5e-6,
            "latency.read.max{job=j}": 4e-6,
        }
    )


def test_the_file_wins_over_stdout() -> None:
    raw = document({"iops": 10, "bw": 40})
    process = Completed(
        argv=(),
        exit_code=0,
        stdout=b"fio: noise",
        stderr=b"",
        started_at=0,
        duration_s=0,
        files={"fio.json": raw},
    )
    assert by_series(fio.parse([process], {}))["iops.read{job=j}"] == 10


@pytest.mark.parametrize("count", [0, 2])
def test_one_output_is_expected(count: int) -> None:
    with pytest.raises(ParseError, match=f"found {count} fio outputs"):
        fio.parse([completed(b"{}")] * count, {})


def test_exit_code_alone_is_a_failure() -> None:
    with pytest.raises(ParseError, match="exit code 1; stderr: 'verify failed'"):
        fio.parse(
            [completed(document({"iops": 10, "bw": 40}), exit_code=1, stderr=b"verify failed")], {}
        )


def test_job_file_of_structured_parameters() -> None:
    parameters: dict[str, Json] = {
        "size": "1 GiB",
        "ramp_time": "10 s",
        "thread": True,
        "jobs": [
            {"name": "read_iops", "rw": "randread", "bs": "4 KiB", "iodepth": 128},
            {
                "name": "log",
                "rw": "write",
                "direct": False,
                "runtime": "1.5 s",
                "rate": "60 MB/s",
                "rate_iops": "500 1/s",
                "stonewall": False,
            },
        ],
    }
    assert (
        fio_jobs.job_file(parameters).decode()
        == """\
[read_iops]
ioengine=libaio
rw=randread
bs=4096
iodepth=128
size=1073741824
runtime=60s
ramp_time=10s
time_based=1
direct=1
thread
group_reporting

[log]
ioengine=libaio
rw=write
size=1073741824
runtime=1500000us
ramp_time=10s
time_based=1
direct=0
rate=60000000
rate_iops=500
thread
group_reporting
new_group
"""
    )
    assert fio.duration_s(parameters) == 70
    assert fio.primary(parameters) == "iops.read{job=read_iops}"


def test_presets_are_the_published_job_files() -> None:
    corners = fio_jobs.jobs({"preset": "four-corners"})
    assert [(job.name, job.settings["rw"], job.settings["bs"]) for job in corners] == [
        ("read_iops", "randread", "4 KiB"),
        ("write_iops", "randwrite", "4 KiB"),
        ("read_bw", "randread", "1 MiB"),
        ("write_bw", "randwrite", "1 MiB"),
    ]
    assert fio.duration_s({"preset": "four-corners"}) == 280
    assert fio.duration_s({"preset": "kubestr"}) == 17
    assert fio.duration_s({"preset": "four-corners", "runtime": "5 s"}) == 60
    assert b"stonewall" not in fio_jobs.job_file({"preset": "kubestr"})


def test_a_published_job_file_as_text() -> None:
    text = (Path(__file__).parents[2] / "data" / "fio" / "given.fio").read_text()
    assert fio_jobs.job_file({"job_text": text}) == text.encode()
    assert fio_jobs.names({"job_text": text}) == ("read_iops", "write_iops", "both-a", "both-b")
    assert fio.duration_s({"job_text": text}) == 70 + 70 + 130
    assert fio.primary({"job_text": text}) == "iops.read{job=read_iops}"
    assert fio_jobs.deadline_s({"job_text": text}) == pytest.approx(
        (2 * 10 + 2 * 1 + 1) * 2**30 / 20e6 + 2 * 270 + 120
    )


@pytest.mark.parametrize(
    "hostile",
    [
        {"rw": "read", "filename": "x\nexec_prerun=touch /tmp/owned"},
        {"rw": "read\n"},
        {"rw": "read", "engine": "libaio\r"},
        {"jobs": [{"name": "a]\n[b", "rw": "read"}]},
        {"jobs": [{"name": "a][b", "rw": "read"}]},
        {"rw": "read", "cpus_allowed": "0\x00"},
    ],
)
def test_no_value_becomes_a_line_of_its_own(hostile: dict[str, Json]) -> None:
    with pytest.raises(SpecError, match="no single line"):
        fio_jobs.job_file(hostile)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "must say what it does"),
        ({"jobs": [{"name": "a"}]}, "must say what it does"),
        ({"jobs": [{"name": "a", "rw": "read"}, {"name": "a", "rw": "write"}]}, "one name"),
        ({"rw": "read", "size": "10 GB/s"}, "expected a size"),
    ],
)
def test_parameters_that_make_no_job(parameters: dict[str, Json], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fio_jobs.job_file(parameters)


@pytest.mark.parametrize(
    ("parameters", "series"),
    [
        ({"rw": "randwrite"}, "iops.write{job=randwrite}"),
        ({"rw": "randrw"}, "iops.read{job=randrw}"),
        ({"rw": "randrw", "unified_rw_reporting": True}, "iops.mixed{job=randrw}"),
    ],
)
def test_primary(parameters: dict[str, Json], series: str) -> None:
    assert fio.primary(parameters) == series


def test_directory_is_given_or_the_storage_path_or_the_work_directory() -> None:
    def argv(
        parameters: dict[str, Json], storage: dict[str, Json]
    ) -> tuple[tuple[str, ...], bytes]:
        commands = fio.commands(
            trial.experiment(fio, {"rw": "read", **parameters}, storage, cpus=(1,)),
            trial.surroundings("/w"),
        )
        assert commands.clients[0].cpus == (1,)
        return commands.clients[0].argv, commands.files[0].data

    assert argv({}, {})[0] == (
        "fio",
        "--output=/w/fio.json",
        "--output-format=json",
        "--directory=/w",
        "/w/job.fio",
    )
    assert b"unlink" not in argv({}, {})[1]
    assert argv({}, {"path": "/mnt/x"})[0][:4] == (
        "sh",
        "/w/fio-in-own-folder.sh",
        "/mnt/x",
        "/w/fio.json",
    )
    assert argv({"directory": "/mnt/a:b"}, {"path": "/mnt/x"})[0][2] == "/mnt/a:b"
    assert b"unlink" not in argv({"directory": "/mnt/y"}, {})[1], "nothing of others is removed"


def test_real_trial(tmp_path: Path) -> None:
    trial.require("fio")
    parameters: dict[str, Json] = {
        "size": "4 MiB",
        "runtime": "1 s",
        "engine": "psync",
        "direct": False,
        "jobs": [
            {"name": "r", "rw": "randread", "bs": "4 KiB"},
            {"name": "w", "rw": "write", "bs": "64 KiB", "numjobs": 2, "stonewall": False},
        ],
    }
    volume = tmp_path / "vol:ume"
    volume.mkdir()
    (tmp_path / "work").mkdir()
    where = trial.surroundings(tmp_path / "work")
    commands = fio.commands(trial.experiment(fio, {**parameters, "directory": str(volume)}), where)
    found = by_series(fio.parse(trial.run(commands, tmp_path / "work"), parameters))
    assert found["iops.read{job=r}"] > 0
    assert found["latency.write.p99{job=w}"] > 0
    assert found["throughput.write{job=w}"] == pytest.approx(
        65536 * found["iops.write{job=w}"], rel=0.01
    )
    assert 0.9 < found["duration{job=r}"] < 10
    assert found["error.ratio{job=r}"] == 0
    assert list(volume.iterdir()) == [], "the data files are gone"


def wiped(folder: Path, **parameters: Json) -> tuple[bytes, list[str]]:
    """What is in the file that was there, and in its folder, after a trial."""
    trial.require("fio")
    victim, work = folder / "victim", folder / "work"
    victim.mkdir()
    work.mkdir()
    (victim / "precious.txt").write_bytes(b"precious" * 1024)
    given: dict[str, Json] = {
        "size": "8 KiB",
        "runtime": "1 s",
        "engine": "psync",
        "direct": False,
        "directory": str(victim),
        "filename": "precious.txt",
        **parameters,
    }
    commands = fio.commands(trial.experiment(fio, given), trial.surroundings(work))
    fio.parse(trial.run(commands, work), given)
    kept = (victim / "precious.txt").read_bytes()
    return kept, sorted(path.name for path in victim.iterdir())


@pytest.mark.parametrize("rw", ["read", "write"])
def test_a_file_that_is_there_is_neither_written_nor_removed(rw: str, tmp_path: Path) -> None:
    assert wiped(tmp_path, rw=rw) == (b"precious" * 1024, ["precious.txt"])


def test_what_destroys_names_is_written_and_stays(tmp_path: Path) -> None:
    path = str(tmp_path / "victim" / "precious.txt")
    kept, names = wiped(tmp_path, rw="write", destroys=[path])
    assert (len(kept), names) == (8192, ["precious.txt"])
    assert kept != b"precious" * 1024


def test_destroys_covers_every_file_of_the_jobs() -> None:
    given: dict[str, Json] = {"directory": "/dev", "destroys": ["/dev/a"]}
    for jobs in ({"rw": "read", "filename": "b"}, {"rw": "read"}, {"job_text": "[a]\nrw=read"}):
        with pytest.raises(SpecError, match="expected only what destroys names: /dev/a"):
            fio.commands(trial.experiment(fio, {**given, **jobs}), trial.surroundings("/w"))
    ours = {**given, "rw": "read", "filename": "a"}
    argv = fio.commands(trial.experiment(fio, ours), trial.surroundings("/w")).clients[0].argv
    assert argv[3] == "--directory=/dev"


@pytest.mark.parametrize(
    "line",
    [
        "exec_prerun=sh -c id",
        "exec_postrun=sh -c id",
        "ioengine=external:/x.so",
        "ioengine=/x.so",
        "include /etc/hostname",
        "include=/etc/hostname",
        "opendir=/home",
        "write_bw_log=/home/x",
        "read_iolog=/etc/shadow",
        "verify_state_load=1",
        "allow_mounted_write=1",
        "filename=/dev/sda",
        "filename=a:../b",
        "directory=/home",
        "size=$ncpus*';id;'",
        "size=${HOME}",
        "bs=4k\x0bexec_prerun=id",
        "; " + "x" * 4093 + " exec_prerun=id",
    ],
)
def test_a_job_text_that_is_more_than_data_is_refused_where_the_command_is_made(line: str) -> None:
    given: dict[str, Json] = {"job_text": f"[global]\n{line}\n[a]\nrw=read\n"}
    with pytest.raises(SpecError, match="line 2"):
        fio.commands(trial.experiment(fio, given), trial.surroundings("/w"))


def test_real_refusal_leaves_no_old_result(tmp_path: Path) -> None:
    """A trial that fails before it measures must not be read from the file that the trial before it
    left.
    """
    trial.require("fio")
    (tmp_path / "fio.json").write_bytes(document({"iops": 10, "bw": 40}))
    commands = fio.commands(
        trial.experiment(fio, {"rw": "read", "directory": "/nonexistent-directory"}),
        trial.surroundings(tmp_path),
    )
    with pytest.raises(ParseError, match="/nonexistent-directory/fio"):
        fio.parse(trial.run(commands, tmp_path), {})


RAW = dataclasses.replace(trial.surroundings("/w"), devices={Role.CLIENT: "/dev/sd:1"})


def test_a_raw_device_is_measured_instead_of_files() -> None:
    commands = fio.commands(trial.experiment(fio, {"rw": "read"}), RAW)
    assert commands.clients[0].argv[3] == "--filename=/dev/sd\\:1"
    assert b"unlink" not in commands.files[0].data


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"rw": "read", "filename": "f"}, "found filename for a volume in block mode"),
        ({"rw": "read", "directory": "/mnt/x"}, "found directory"),
        ({"job_text": "[global]\nfilename=f\n[j]\nrw=read\n"}, "found filename"),
        ({"job_text": "[j]\nrw=read\n", "directory": "/mnt/x"}, "found directory"),
    ],
)
def test_jobs_that_name_files_beside_a_raw_device_are_refused(
    parameters: dict[str, Json], said: str
) -> None:
    with pytest.raises(SpecError, match=said):
        fio.commands(trial.experiment(fio, parameters), RAW)


def test_a_job_file_reaches_the_raw_device(tmp_path: Path) -> None:
    trial.require("fio")
    disk = tmp_path / "disk:1"
    disk.write_bytes(bytes(2**20))
    parameters: dict[str, Json] = {"job_text": "[j]\nrw=write\nbs=4k\nsize=1m\nioengine=psync\n"}
    where = dataclasses.replace(trial.surroundings(tmp_path), devices={Role.CLIENT: str(disk)})
    found = by_series(
        fio.parse(
            trial.run(fio.commands(trial.experiment(fio, parameters), where), tmp_path), parameters
        )
    )
    assert found["iops.write{job=j}"] > 0
    assert disk.read_bytes() != bytes(2**20)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk:1", "fio.json", "job.fio"]


def test_goldens_are_captured_from_the_real_tool() -> None:
    told = [json.loads(path.read_text()) for path in (DATA / "fio").glob("*.expected.json")]
    assert len(told) >= 20
    assert all(case["command"][0] == "fio" for case in told)
