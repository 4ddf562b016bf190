"""Capture the golden outputs of tools from the real ones of this machine.

    python tests/data/capture.py [TOOL...]

Every case writes its raw output and ``CASE.expected.json`` beside it. The expected figures are then
the parser's own: read the difference before it is committed (tests/workloads hold them against the
documents independently, too). A case that exists is left alone; delete its files to make it anew.

The cases of a tool are here, or in ``TOOL/cases.json`` beside the outputs: the argv that prints the
version, shell lines that make the servers (ready when their port answers), and each case as
:class:`Case` has it, its ``run`` for ``sh -c``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchspec.engine.model.contract.values import Completed
from benchspec.engine.model.errors import ParseError
from benchspec.engine.model.spec import Json
from benchspec.workloads.fio import job_files as fio_jobs
from benchspec.workloads.registry import get_workload
from benchspec.workloads.sysbench import workload as sysbench

DATA = Path(__file__).parent
PORT = 28201


@dataclass(frozen=True, kw_only=True)
class Case:
    """One output: ``argv`` run in an empty directory that holds ``files``; ``kill`` is a signal
    sent after a second.
    """

    name: str
    argv: Sequence[str]
    parameters: Mapping[str, Json] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    kill: int = 0


def fio_cases() -> Iterator[Case]:
    for name, options in FIO.items():
        yield Case(name=name, argv=("fio", *options.split()), kill=FIO_KILLED.get(name, 0))
    for preset in ("four-corners", "kubestr"):
        parameters: dict[str, Json] = {
            "preset": preset,
            "size": "16 MiB",
            "runtime": "1 s",
            "ramp_time": "0 s",
            "iodepth": 8,
        }
        argv = ("fio", "--output-format=json", "--directory=.", "job.fio")
        yield Case(
            name=f"preset-{preset}",
            argv=argv,
            parameters=parameters,
            files={"job.fio": fio_jobs.job_file(parameters)},
        )
    twice = b"[j]\nrw=read\nbs=4k\nsize=1m\n[j]\nstonewall\nrw=read\nbs=4k\nsize=1m\n"
    yield Case(
        name="ERROR-one-name-in-two-groups",
        argv=("fio", "--output-format=json", "--directory=.", "job.fio"),
        files={"job.fio": twice},
    )
    absent: dict[str, Json] = {
        "jobs": [{"name": "j", "rw": "read"}, {"name": "absent", "rw": "write"}]
    }
    yield Case(
        name="ERROR-job-missing",
        argv=("fio", *f"{_JOB} --rw=read --runtime=1 --time_based".split()),
        parameters=absent,
    )


_JOB = "--name=j --directory=. --size=8m --bs=4k --output-format=json --ioengine=psync"
_FULL = (
    "--name=j --filename=/dev/full --size=1m --bs=4k --rw=write --ioengine=psync"
    " --output-format=json"
)
FIO = {
    "randread-libaio-direct": (
        f"{_JOB} --rw=randread --ioengine=libaio --iodepth=8 --direct=1 --runtime=1 --time_based"
    ),
    "randread-note-before-json": f"{_JOB} --rw=randread --iodepth=4 --runtime=1 --time_based",
    "randrw-numjobs3-group": (
        f"{_JOB} --rw=randrw --rwmixread=70 --numjobs=3 --group_reporting --runtime=1 --time_based"
    ),
    "randrw-numjobs3-nogroup": (
        f"{_JOB} --rw=randrw --rwmixread=70 --numjobs=3 --runtime=1 --time_based"
    ),
    "randrw-unified-mixed": f"{_JOB} --rw=randrw --unified_rw_reporting=1 --runtime=1 --time_based",
    "randread-gtod-reduce": f"{_JOB} --rw=randread --gtod_reduce=1 --runtime=1 --time_based",
    "randread-lat-percentiles": (
        f"{_JOB} --rw=randread --lat_percentiles=1 --clat_percentiles=0 --runtime=1 --time_based"
    ),
    "randread-json-plus": f"{_JOB} --rw=randread --output-format=json+ --runtime=1 --time_based",
    "randread-json-and-normal": (
        f"{_JOB} --rw=randread --output-format=json,normal --runtime=1 --time_based"
    ),
    "randread-status-interval": (
        f"{_JOB} --rw=randread --status-interval=1 --runtime=3 --time_based"
    ),
    "write-fsync": f"{_JOB} --rw=write --bs=64k --fsync=1",
    "write-continue-on-error": f"{_FULL} --continue_on_error=all",
    "read-terse": f"{_JOB} --rw=read --output-format=terse --runtime=1 --time_based",
    "read-normal": f"{_JOB} --rw=read --output-format=normal --runtime=1 --time_based",
    "ERROR-no-space": _FULL,
    "ERROR-direct-unaligned": f"{_JOB} --rw=read --direct=1 --bs=1000",
    "ERROR-bad-engine": f"{_JOB} --rw=read --ioengine=nosuch",
    "ERROR-no-directory": f"{_JOB} --rw=read --directory=/nonexistent-directory",
    "ERROR-bad-option": f"{_JOB} --rw=read --no_such_option=1",
    "ERROR-nothing-done": (
        "--name=j --ioengine=cpuio --cpuload=5 --runtime=1 --time_based --output-format=json"
    ),
    "ERROR-terminated": f"{_JOB} --rw=read --runtime=9 --time_based",
    "ERROR-killed": f"{_JOB} --rw=read --runtime=9 --time_based --thread",
}
FIO_KILLED = {"ERROR-terminated": signal.SIGTERM, "ERROR-killed": signal.SIGKILL}

IPERF3 = {
    "tcp": "-t 1",
    "tcp-streams3": "-t 1 -P 3",
    "tcp-reverse": "-t 1 -R",
    "tcp-bidir": "-t 1 --bidir",
    "tcp-bidir-streams2": "-t 1 --bidir -P 2",
    "tcp-omit": "-t 2 -O 1",
    "tcp-bitrate": "-t 1 -b 50000000 -P 2",
    "tcp-options": "-t 1 -M 1400 -w 65536 -l 16384 -N -Z -C cubic",
    "tcp-server-output": "-t 1 --get-server-output",
    "udp-100M": "-t 1 -u -b 100000000",
    "udp-unlimited-loss": "-t 1 -u -b 0 -l 8000 -w 8192",
    "udp-omit": "-t 2 -O 1 -u -b 0 -l 8000",
    "udp-reverse": "-t 1 -u -b 50000000 -R --udp-counters-64bit",
    "udp-bidir": "-t 1 -u -b 50000000 --bidir",
    "udp-streams2": "-t 1 -u -b 20000000 -P 2",
    "ERROR-terminated": "-t 9",
    "ERROR-bad-option": "--no-such-option",
}


def iperf3_cases() -> Iterator[Case]:
    base = ("iperf3", "-c", "127.0.0.1", "-p", str(PORT), "-J")
    for name, options in IPERF3.items():
        yield Case(
            name=name,
            argv=(*base, *options.split()),
            kill=signal.SIGTERM if name == "ERROR-terminated" else 0,
        )
    yield Case(name="tcp-ipv6", argv=("iperf3", "-c", "::1", "-p", str(PORT), "-J", "-t", "1"))
    yield Case(
        name="ERROR-text", argv=("iperf3", "-c", "127.0.0.1", "-p", str(PORT), "-t", "1", "-P", "2")
    )
    yield Case(name="ERROR-refused", argv=("iperf3", "-c", "127.0.0.1", "-p", "1", "-J"))
    yield Case(name="ERROR-dns", argv=("iperf3", "-c", "no-such-host.invalid", "-J"))
    other = (
        f"iperf3 -c 127.0.0.1 -p {PORT} -t 3 >/dev/null & sleep 1; iperf3 -c 127.0.0.1 -p {PORT}"
        " -J; code=$?; wait; exit $code"
    )
    yield Case(name="ERROR-server-busy", argv=("sh", "-c", other))
    dying = (
        f"iperf3 -s -1 -p {PORT + 1} >/dev/null & server=$!; sleep 1; (sleep 1; kill -9 $server) &"
        f" iperf3 -c 127.0.0.1 -p {PORT + 1} -t 5 -J"
    )
    yield Case(name="ERROR-server-killed", argv=("sh", "-c", dying))


OPENSSL = {
    "evp-one-block": "-mr -seconds 1 -elapsed -bytes 16384 -evp aes-256-gcm",
    "evp-all-blocks": "-mr -seconds 1 -evp sha256",
    "evp-multi": "-mr -seconds 1 -elapsed -multi 2 -bytes 1024 -evp aes-128-gcm",
    "evp-multi-all-blocks": "-mr -seconds 1 -multi 2 -evp sha256",
    "evp-multi-table": "-seconds 1 -multi 2 -bytes 1024 -evp sha256",
    "evp-table": "-seconds 1 -bytes 1024 -evp aes-128-gcm",
    "evp-table-all-blocks": "-seconds 1 -evp chacha20-poly1305",
    "several-table": (
        "-seconds 1 -bytes 1024 sha256 aes-128-cbc rsa2048 ecdsap256 ed25519 ecdhx25519"
    ),
    "several": "-mr -seconds 1 -bytes 1024 sha256 aes-128-cbc",
    "signatures": "-mr -seconds 1 rsa2048 ecdsap256 ed25519",
    "signature-multi": "-mr -seconds 1 -multi 2 rsa2048",
    "ERROR-key-agreement-only": "-mr -seconds 1 ecdhp256",
    "ERROR-unknown": "-mr -seconds 1 -evp nosuch",
    "ERROR-killed": "-mr -seconds 5 -evp sha256",
}


def openssl_cases() -> Iterator[Case]:
    for name, options in OPENSSL.items():
        yield Case(
            name=name,
            argv=("openssl", "speed", *options.split()),
            kill=signal.SIGKILL if name == "ERROR-killed" else 0,
        )


SYSBENCH: Mapping[str, tuple[str, dict[str, Json]]] = {
    "cpu": ("cpu --threads=2 --cpu-max-prime=5000 --time=1", {}),
    "cpu-p99-histogram": (
        "cpu --time=1 --percentile=99 --histogram --report-interval=1",
        {"percentile": 99},
    ),
    "memory-write": ("memory --memory-total-size=0 --time=1", {"test": "memory"}),
    "memory-read-random": (
        "memory --memory-oper=read --memory-access-mode=rnd --memory-total-size=512M --time=5",
        {"test": "memory"},
    ),
    "threads": ("threads --threads=2 --time=1", {"test": "threads"}),
    "mutex": ("mutex --threads=2 --events=2 --time=0", {"test": "mutex"}),
    "ERROR-not-prepared": (
        "fileio --file-total-size=16M --file-test-mode=rndrd",
        {"test": "fileio"},
    ),
    "ERROR-bad-option": ("cpu --no-such-option=1", {}),
    "ERROR-terminated": ("cpu --time=9", {}),
}
FILEIO = {"fileio-read-write": "rndrw", "fileio-read": "rndrd", "fileio-sequential-write": "seqwr"}


def sysbench_cases() -> Iterator[Case]:
    for name, (options, parameters) in SYSBENCH.items():
        kill = signal.SIGTERM if name == "ERROR-terminated" else 0
        yield Case(
            name=name, argv=("sysbench", *options.split(), "run"), parameters=parameters, kill=kill
        )
    for name, mode in FILEIO.items():
        given: dict[str, Json] = {"test": "fileio", "file_mode": mode}
        argv = (
            "sh",
            "fileio.sh",
            ".",
            "--file-total-size=16M",
            "--file-num=4",
            f"--file-test-mode={mode}",
            "--time=1",
        )
        yield Case(
            name=name, argv=argv, parameters=given, files={"fileio.sh": sysbench.FILEIO_SCRIPT}
        )
    yield Case(
        name="ERROR-several",
        argv=("sh", "-c", "sysbench cpu --time=1 run; sysbench cpu --time=1 run"),
    )
    yield Case(name="ERROR-help", argv=("sysbench", "cpu", "help"))


STRESS_NG: Mapping[str, tuple[str, Sequence[str]]] = {
    "cpu": ("--metrics --cpu 2 --cpu-method matrixprod", ("cpu",)),
    "cpu-and-vm": ("--metrics --cpu 1 --vm 1 --vm-bytes 16M", ("cpu", "vm")),
    "mq": ("--metrics --mq 1", ("mq",)),
    "ERROR-skipped": ("--metrics --cpu 1 --rdrand 1", ("cpu", "rdrand")),
    "ERROR-no-resource": ("--metrics --tmpfs 1", ("tmpfs",)),
    "ERROR-no-metrics": ("--cpu 1 --metrics-brief --quiet", ("cpu",)),
    "ERROR-bad-option": ("--no-such-stressor 1", ("no-such-stressor",)),
    "ERROR-stopped": ("--metrics --cpu 1", ("cpu",)),
}


def stress_ng_cases() -> Iterator[Case]:
    for name, (options, stressors) in STRESS_NG.items():
        length = 9 if name == "ERROR-stopped" else 1
        parameters: dict[str, Json] = {
            "duration": f"{length} s",
            "stressors": [{"name": stressor} for stressor in stressors],
        }
        argv = (
            "stress-ng",
            *options.split(),
            "--timeout",
            f"{length}s",
            "--temp-path",
            ".",
            "--yaml",
            "/dev/stdout",
        )
        yield Case(
            name=name,
            argv=argv,
            parameters=parameters,
            kill=signal.SIGTERM if name == "ERROR-stopped" else 0,
        )


SOCKPERF: Mapping[str, tuple[str, dict[str, Json]]] = {
    "ping-pong-udp": ("ping-pong -t 1", {}),
    "ping-pong-tcp": ("ping-pong --tcp -t 1", {"protocol": "tcp"}),
    "ping-pong-round-trip": ("ping-pong -t 1 --full-rtt", {}),
    "under-load": (
        "under-load -t 1 --mps 2000 --reply-every 10",
        {"mode": "under-load", "rate": 2000, "reply_every": 10},
    ),
    "under-load-few": ("under-load -t 1 --mps 1000", {"mode": "under-load", "rate": 1000}),
    "under-load-dropped": (
        "under-load -t 1 --mps max -m 1400 --reply-every 10",
        {"mode": "under-load", "reply_every": 10},
    ),
    "throughput-udp": ("throughput -t 1", {"mode": "throughput"}),
    "throughput-tcp": ("throughput --tcp -t 1 -m 1400", {"mode": "throughput"}),
    "ERROR-precision": (
        "throughput --tcp -t 1 -m 1400 --increase_output_precision",
        {"mode": "throughput"},
    ),
    "ERROR-bad-option": ("ping-pong --no-such-option", {}),
}


def sockperf_cases() -> Iterator[Case]:
    for name, (options, parameters) in SOCKPERF.items():
        mode, *rest = options.split()
        yield Case(
            name=name,
            argv=("sockperf", mode, "-i", "127.0.0.1", "-p", str(PORT + 2), *rest),
            parameters=parameters,
        )
    yield Case(
        name="ERROR-no-answer",
        argv=("sockperf", "ping-pong", "-i", "127.0.0.1", "-p", "1", "-t", "1"),
    )
    yield Case(
        name="ERROR-refused",
        argv=("sockperf", "ping-pong", "--tcp", "-i", "127.0.0.1", "-p", "1", "-t", "1"),
    )
    yield Case(
        name="ERROR-ipv6",
        argv=("sockperf", "ping-pong", "-i", "::1", "-p", str(PORT + 2), "-t", "1"),
    )


def command_cases() -> Iterator[Case]:
    copied = {"regex": r"copied, ([\d.]+) s, ([\d.]+) GB/s", "from": "stderr"}
    rate: dict[str, Json] = {
        "regex": r"copied, [\d.]+ s, ([\d.]+) GB/s",
        "unit": "GB/s",
        "direction": "higher",
        "from": "stderr",
    }
    dd = ("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=2000")
    yield Case(
        name="dd-regex-on-stderr",
        argv=dd,
        parameters={"run": list(dd), "extract": {"throughput": rate}},
    )
    yield Case(
        name="ERROR-dd-two-groups",
        argv=dd,
        parameters={"run": list(dd), "extract": {"throughput": {**rate, **copied}}},
    )
    yield Case(
        name="ERROR-dd-wrong-stream",
        argv=dd,
        parameters={"run": list(dd), "extract": {"throughput": {**rate, "from": "stdout"}}},
    )
    stat = ("cat", "/proc/stat")
    ticks: dict[str, Json] = {
        "regex": r"^(?P<cpu>cpu\d+) (?P<value>\d+)",
        "title": "Ticks of user time",
    }
    total: dict[str, Json] = {"regex": r"^cpu\d+ (\d+)", "aggregate": "sum"}
    count: dict[str, Json] = {"regex": r"^(nosuch)", "aggregate": "count"}
    extract: dict[str, Json] = {"ticks": ticks, "ticks.total": total, "nosuch": count}
    yield Case(
        name="proc-stat-labels", argv=stat, parameters={"run": list(stat), "extract": extract}
    )
    yield Case(
        name="ERROR-proc-stat-ambiguous",
        argv=stat,
        parameters={"run": list(stat), "extract": {"ticks": {**total, "aggregate": "only"}}},
    )
    lsblk = (
        "fio",
        "--name=j",
        "--ioengine=null",
        "--size=1g",
        "--rw=randread",
        "--output-format=json",
        "--number_ios=20000",
    )
    paths: dict[str, Json] = {
        "iops": {"jsonpath": "$.jobs[*].read.iops", "direction": "higher", "unit": "IOPS"},
        "latency": {
            "jsonpath": "$.jobs[0].read.lat_ns['mean']",
            "unit": "ns",
            "direction": "lower",
            "labels": {"job": "j"},
        },
        "absent": {"jsonpath": "$.jobs[7].read.iops", "optional": True},
    }
    yield Case(name="json-document", argv=lsblk, parameters={"run": list(lsblk), "extract": paths})
    table = "test;qps;p99 ms\nread;100.5;2.5\nwrite;50;7\nread;101.5;2.7\n"
    rules: dict[str, Json] = {
        "qps": {
            "csv": {"column": "qps", "by": ["test"], "delimiter": ";"},
            "aggregate": "mean",
            "unit": "1/s",
            "direction": "higher",
        },
        "write.p99": {
            "csv": {"column": "p99 ms", "where": {"test": "write"}, "delimiter": ";"},
            "unit": "ms",
            "direction": "lower",
        },
    }
    yield Case(
        name="csv-table",
        argv=("printf", "%s", table),
        parameters={"run": ["printf", "%s", table], "extract": rules},
    )
    failing = ("sh", "-c", "echo time 3; echo broken >&2; exit 3")
    time_rule: dict[str, Json] = {"t": {"regex": r"time (\d+)", "unit": "s"}}
    yield Case(
        name="ERROR-exit-3", argv=failing, parameters={"run": list(failing), "extract": time_rule}
    )
    yield Case(
        name="exit-3-accepted",
        argv=failing,
        parameters={"run": list(failing), "extract": time_rule, "exit_codes": [0, 3]},
    )


def run(case: Case, folder: Path) -> Completed:
    """Run it as it is, in ``folder``."""
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    environment = {"PATH": f"/usr/sbin:/usr/bin:/sbin:/bin:{os.environ['PATH']}", "LC_ALL": "C"}
    process = subprocess.Popen(
        case.argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    if case.kill:
        time.sleep(1)
        process.send_signal(case.kill)
    stdout, stderr = process.communicate(timeout=60)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Completed(
        argv=tuple(case.argv),
        exit_code=code,
        stdout=stdout,
        stderr=stderr,
        started_at=0.0,
        duration_s=0.0,
    )


def store(tool: str, version: str, case: Case) -> None:
    """Write the raw output and what the parser makes of it."""
    folder = DATA / tool
    expected = folder / f"{case.name}.expected.json"
    if expected.exists():
        return
    with tempfile.TemporaryDirectory() as directory:
        found = run(case, Path(directory))
    folder.mkdir(exist_ok=True)
    (folder / f"{case.name}.out").write_bytes(found.stdout)
    told: dict[str, Json] = {
        "tool": version,
        "command": list(case.argv),
        "parameters": case.parameters,
        "outputs": [f"{case.name}.out"],
        "exit_code": found.exit_code,
    }
    if found.stderr:
        (folder / f"{case.name}.err").write_bytes(found.stderr)
        told["stderr"] = f"{case.name}.err"
    try:
        told["measurements"] = {
            m.series: m.value for m in get_workload(tool).parse((found,), case.parameters)
        }
    except ParseError as error:
        told["error"] = error.message
    expected.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    print(f"{tool}/{case.name}: {told.get('error', 'measured')}")


def version_of(argv: Sequence[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[0]


@contextlib.contextmanager
def sockperf_server() -> Iterator[None]:
    with tempfile.NamedTemporaryFile("w", suffix=".feed") as feed:
        feed.write("".join(f"{protocol}:127.0.0.1:{PORT + 2}\n" for protocol in "TU"))
        feed.flush()
        process = subprocess.Popen(
            ("sockperf", "server", "-f", feed.name), stdout=subprocess.DEVNULL
        )
        time.sleep(0.5)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def iperf3_server() -> Iterator[None]:
    process = subprocess.Popen(("iperf3", "-s", "-p", str(PORT)), stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def from_file(path: Path, tools: Sequence[str]) -> None:
    """Capture the cases of ``TOOL/cases.json``."""
    tool, told = path.parent.name, json.loads(path.read_text())
    missing = [name for name in told["cases"] if not (path.parent / f"{name}.out").exists()]
    if not missing or (tools and tool not in tools):
        return
    with contextlib.ExitStack() as stack:
        for line, port in told["servers"].items():
            stack.enter_context(server(line, port))
        for name in missing:
            case = told["cases"][name]
            files = {key: text.encode() for key, text in case.get("files", {}).items()}
            argv = ("sh", "-c", case["run"])
            made = Case(
                name=name,
                argv=argv,
                parameters=case.get("parameters", {}),
                files=files,
                kill=case.get("kill", 0),
            )
            store(tool, version_of(told["version"]), made)


@contextlib.contextmanager
def server(line: str, port: int) -> Iterator[None]:
    """A server in an empty directory, from when its port answers on."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(("sh", "-c", line), cwd=folder, stdout=subprocess.DEVNULL)
        try:
            while process.poll() is None and not answers(port):
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait()


def answers(port: int) -> bool:
    """Whether something listens on this port of the loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def main(tools: Sequence[str]) -> None:
    for path in sorted(DATA.glob("*/cases.json")):
        from_file(path, tools)
    if tools and not {*tools} & {
        "fio",
        "iperf3",
        "openssl-speed",
        "sysbench",
        "stress-ng",
        "sockperf",
        "command",
    }:
        return
    with iperf3_server(), sockperf_server():
        for tool, version, cases in (
            ("fio", ("fio", "--version"), fio_cases()),
            ("iperf3", ("iperf3", "--version"), iperf3_cases()),
            ("openssl-speed", ("openssl", "version"), openssl_cases()),
            ("sysbench", ("sysbench", "--version"), sysbench_cases()),
            ("stress-ng", ("stress-ng", "--version"), stress_ng_cases()),
            ("sockperf", ("sockperf", "--version"), sockperf_cases()),
            ("command", ("uname", "-sr"), command_cases()),
        ):
            for case in cases if tool in tools or not tools else ():
                store(tool, version_of(version), case)


if __name__ == "__main__":
    main(sys.argv[1:])
