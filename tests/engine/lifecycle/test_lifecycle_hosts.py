"""Lifecycles on hosts reached over SSH, with an independent look at what happens there and what is
left there.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.control.events import Event
from benchspec.engine.model.errors import RunFailed, TransportLost
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.read_run import read_run
from tests import hosts
from tests.engine.execution.bench import (
    Recorder,
    execute,
    finished,
    make_run,
    records,
    run_cli,
    spec_document,
    start_cli,
    write_spec,
)
from tests.repeats import repeats

KILLS = repeats("LIFECYCLE_KILLS", 8, whole=20)
ONCE: Mapping[str, Any] = {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1}
STATE, LOG = "/var/tmp/stands", "/var/tmp/log"
UP = f'sleep "$SLOW"; mkdir {STATE} && echo up >>{LOG}'
DOWN = f"rm -rf {STATE}; echo down >>{LOG}"


@pytest.fixture(scope="module")
def shared() -> Iterator[hosts.Bed]:
    if (problem := hosts.missing()) is not None:
        pytest.skip(problem)
    with hosts.up(3, name=f"life{os.getpid()}"[:12], owner=os.getpid()) as bed:
        yield bed


@pytest.fixture
def bed(shared: hosts.Bed) -> Iterator[hosts.Bed]:
    """The hosts; nothing of a test may be left there."""
    before = [traces(host) for host in shared.hosts]
    yield shared
    for host in shared.hosts:
        host.shell(f"rm -rf {LOG} /var/tmp/counter*")
    left = [sorted(traces(host) - known) for host, known in zip(shared.hosts, before, strict=True)]
    for host in shared.hosts:
        host.shell(
            f"rm -rf {STATE} /var/tmp/benchspec*"
        )  # so that what one test left fails no other
    assert left == [[], [], []]


def traces(host: hosts.Host) -> frozenset[str]:
    """What a program could leave behind; locks are those of the whole machine, and sudo keeps a
    note.
    """
    return frozenset(
        found
        for found in host.traces()
        if not found.startswith(("lock ", "process sshd")) and ".sudo_as_admin" not in found
    )


def settled(holds: Callable[[], bool], what: str, deadline_s: float = 60.0) -> None:
    deadline = time.monotonic() + deadline_s
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def log(host: hosts.Host) -> list[str]:
    return host.shell(f"cat {LOG} 2>/dev/null", check=False).split()


def stands(bed: hosts.Bed) -> list[bool]:
    return [bool(host.shell(f"ls -d {STATE} 2>/dev/null", check=False)) for host in bed.hosts]


def document(
    bed: hosts.Bed, *, script: str = "echo rate: 1", slow_s: float = 0, **site: Any
) -> dict[str, Any]:
    """One target on three hosts that is brought up and down on each of them; its trials run on the
    first.
    """
    found = spec_document(Path("/var/tmp/counter"), script=script, method=ONCE)
    del found["targets"]["b"], found["compare"]
    up, down = (
        {"name": name, "on": "hosts", "run": ["sh", "-c", script], "env": {"SLOW": str(slow_s)}}
        for name, script in (("up", UP), ("down", DOWN))
    )
    found["targets"]["a"] = {
        "runner": bed.site(["client", "server", "monitor"], **{"connect_timeout": "5 s", **site}),
        "lifecycle": {"bootstrap": [up], "destroy": [down]},
    }
    return found


def results(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The last result of each step on each host."""
    return {
        (r.data["step"], r.data["where"]["host"]): r.data
        for r in records(path)
        if r.type == "step.finished"
    }


def test_a_step_runs_where_it_says_and_outputs_of_several_hosts_are_told_apart(
    bed: hosts.Bed, tmp_path: Path
) -> None:
    found = document(bed)
    server = bed.hosts[1].address
    serve = 'echo "it works" >index.html; python3 -m http.server 8123 >/dev/null 2>&1 &'
    found["targets"]["a"]["lifecycle"] = {
        "bootstrap": [
            {
                "name": "every",
                "on": "hosts",
                "run": ["uname", "-n"],
                "capture": {"name": {"stdout": True}},
            },
            {
                "name": "here",
                "on": "controller",
                "run": ["uname", "-n"],
                "capture": {"name": {"stdout": True}},
            },
            {
                "name": "one",
                "on": "server",
                "run": ["sh", "-c", "uname -n; echo $OTHERS"],
                "env": {"OTHERS": "${output:every.client.name}"},
            },
            {
                "name": "two",
                "on": ["monitor", "client"],
                "run": ["uname", "-n"],
                "capture": {"name": {"stdout": True}},
            },
            {"name": "serve", "on": "server", "run": ["sh", "-c", serve]},
        ],
        "ready": [
            {"name": "port", "on": "client", "wait": {"tcp": f"{server}:8123"}, "timeout": "30 s"},
            {
                "name": "page",
                "on": "monitor",
                "wait": {"http": f"http://{server}:8123/"},
                "capture": {"text": {"stdout": True}},
            },
            {"name": "gone", "on": "controller", "wait": {"seconds": "1 ms"}},
        ],
        "destroy": [{"name": "down", "on": "hosts", "run": ["true"]}],
    }
    found["workloads"]["count"]["with"]["run"][2] = 'echo rate: 1; echo "$ALL"'
    names = (
        "${output:every.client.name} ${output:every.server.name} ${output:two.monitor.name}"
        " ${output:here.name} ${output:page.text}"
    )
    found["workloads"]["count"]["with"]["env"] = {"ALL": names}
    spec = write_spec(tmp_path / "spec.yaml", found)
    plan = run_cli("plan", str(spec))
    every, client = ", ".join(host.address for host in bed.hosts), bed.hosts[0].address
    assert (
        f"  a: bootstrap every on {every}: uname -n\n  a: bootstrap here on this machine: uname"
        " -n\n" in plan.stdout
    )
    assert f"  a: bootstrap two on {bed.hosts[2].address}, {client}: uname -n\n" in plan.stdout
    done = run_cli("run", str(spec), "--yes", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    (trial,) = finished(tmp_path / "run")
    said = next(
        (tmp_path / "run" / file.path).read_text()
        for file in trial.raw
        if file.path.endswith("0-stdout")
    )
    assert said == f"rate: 1\nhost1 host2 host3 {socket.gethostname()} it works\n"
    assert (
        tmp_path / "run" / "raw-steps" / "a-s000-a1-b002-one-t1" / "stdout"
    ).read_text() == "host2\nhost1\n"
    assert f"done    a bootstrap step every on {server}" in done.stderr


@pytest.mark.parametrize("transport", ["local", "ssh"])
def test_steps_mean_the_same_on_every_transport(
    transport: str, bed: hosts.Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "canary-4711")
    hostile = "a b; touch /tmp/owned `id` 'q' \"z\" $HOME * \\"
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "up.py").write_text(
        "#!/usr/bin/python3 -I\nimport os, stat, sys\nhere ="
        " os.path.dirname(os.path.dirname(__file__))\nprint(sys.flags.isolated,"
        " oct(os.stat(here).st_mode & 0o077), len(os.environ['TOKEN']), os.environ['TOKEN'])\n"
    )
    tries = "/var/tmp/counter-tries"
    found = document(bed)
    found["targets"]["a"]["runner"] = "local" if transport == "local" else bed.site(["client"])
    found["targets"]["a"]["lifecycle"] = {
        "bootstrap": [
            {
                "name": "say",
                "run": ["printf", "address: %s\n", hostile],
                "capture": {"it": {"regex": "address: (.+)"}},
            },
            {
                "name": "again",
                "run": ["printf", "%s", "${output:say.it}"],
                "capture": {"it": {"stdout": True}},
            },
            {
                "name": "script",
                "script": "steps/up.py",
                "env": {"TOKEN": "${secret:env:TEST_TOKEN}"},
                "capture": {"it": {"stdout": True}},
            },
            {
                "name": "flaky",
                "run": ["sh", "-c", f'printf x >>{tries}; test "$(wc -c <{tries})" -ge 3'],
                "retries": 5,
                "retry_delay": "10 ms",
            },
            {"name": "hang", "run": ["sh", "-c", "sleep 4719 & sleep 4719"], "timeout": "500 ms"},
        ],
        "destroy": [
            {"name": "fails", "run": ["sh", "-c", "echo no such thing >&2; exit 3"]},
            {"name": "down", "run": ["rm", "-f", tries]},
        ],
    }
    directory = make_run(tmp_path, found)
    done = run_cli("resume", str(directory.path), "--yes")
    assert done.returncode == 4
    assert "bootstrap step hang failed" in done.stderr
    assert "did not end within 0.5 s; its process group was killed" in done.stderr
    step = {name: result for (name, _), result in results(directory.path).items()}
    assert step["again"]["outputs"] == {"it": hostile}
    printed = (directory.path / step["script"]["raw"][1]["path"]).read_text()
    assert printed == "1 0o0 11 [redacted]\n"
    assert not [
        p for p in directory.path.rglob("*") if p.is_file() and b"canary-4711" in p.read_bytes()
    ]
    assert (step["flaky"]["number"], step["flaky"].get("error")) == (3, None)
    assert step["fails"]["error"] == "exit code 3; stderr: no such thing"
    assert "error" not in step["down"]
    assert [f.code for f in read_run(directory.path).findings if f.code == "F603"] == ["F603"]
    assert (
        subprocess.run(["pgrep", "-f", "sleep 4719"], capture_output=True, check=False).stdout
        == b""
    )  # sees into the hosts, too
    assert run_cli("clean", str(directory.path), "--yes").returncode == 4  # the step fails again


def test_a_step_has_the_rights_that_its_host_gives(
    bed: hosts.Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_PASSWORD", hosts.host.SUDO_PASSWORD)
    found = document(bed)
    become = {"method": "sudo", "password": "${secret:env:SUDO_PASSWORD}"}
    client, server, monitor = bed.hosts
    by_role = {
        "client": client.site(),
        "server": server.site("admin", become=True),
        "monitor": monitor.site("keeper", become=become),
    }
    found["targets"]["a"]["runner"]["hosts"] = by_role
    steps = [
        {"name": "who", "on": "hosts", "run": ["id", "-u"], "capture": {"id": {"stdout": True}}}
    ]
    found["targets"]["a"]["lifecycle"] = {
        "bootstrap": steps,
        "destroy": [{"name": "down", "on": "hosts", "run": ["true"]}],
    }
    directory = make_run(tmp_path, found)
    done = run_cli("resume", str(directory.path), "--yes", "--quiet")
    assert done.returncode == 0, done.stderr
    assert [
        results(directory.path)["who", host.address]["outputs"]["id"] != "0" for host in bed.hosts
    ] == [True, False, False]
    assert not [
        p
        for p in directory.path.rglob("*")
        if p.is_file() and hosts.host.SUDO_PASSWORD.encode() in p.read_bytes()
    ]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_cancels_the_jobs_on_the_hosts_and_destroys(
    bed: hosts.Bed, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    bootstrapping = number is signal.SIGHUP
    directory = make_run(
        tmp_path,
        document(
            bed, script="echo x >/var/tmp/counter; sleep 600", slow_s=600 if bootstrapping else 0
        ),
    )
    with start_cli(
        "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.PIPE
    ) as process:
        if bootstrapping:
            settled(
                lambda: all("sleep 600" in host.processes() for host in bed.hosts), "no step began"
            )
        else:
            settled(lambda: bool(shown(bed.hosts[0])), "no trial began")
            assert stands(bed) == [True] * 3
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    assert (stands(bed), [log(host)[-1:] for host in bed.hosts]) == ([False] * 3, [["down"]] * 3)


def test_after_a_kill_clean_destroys_on_every_host_and_tells_it_for_machines(
    bed: hosts.Bed, tmp_path: Path
) -> None:
    directory = make_run(tmp_path, document(bed, script="echo x >/var/tmp/counter; sleep 600"))
    with start_cli(
        "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.DEVNULL
    ) as process:
        settled(lambda: bool(shown(bed.hosts[0])), "no trial began")
        process.kill()
    assert stands(bed) == [True] * 3
    assert any("sleep 600" in line for line in bed.hosts[0].processes())
    done = run_cli("clean", "--all", str(tmp_path), "--yes", "--json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["runs"]
    assert (told["run_id"], told["clean"], told["destroyed"], told["left"]) == (
        directory.run_id,
        True,
        ["a"],
        [],
    )
    assert any(name.startswith("processes") for name in told["removed"])
    assert [log(host) for host in bed.hosts] == [["up", "down"]] * 3
    assert run_cli("clean", str(directory.path)).stdout.endswith(
        "nothing of this run is left on its sites\n"
    )


class Cutting(Recorder):
    """Takes a host away when an event of that kind comes."""

    def __init__(self, kind: str, host: hosts.Host) -> None:
        super().__init__()
        self.kind = kind
        self.host = host

    def notify(self, event: Event) -> None:
        super().notify(event)
        if event.kind == self.kind and not self.host.shell(
            "test -e /run/sshd.pid || echo gone", check=False
        ):
            self.host.stop_sshd()
            self.host.cut_connections()


@pytest.mark.parametrize("moment", ["trial.finished", "step.finished"])
def test_a_host_that_is_away_at_the_end_is_told_and_cleaned_later(
    bed: hosts.Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Of the others nothing is left; what the host has is destroyed as soon as it can be."""
    monkeypatch.setattr("benchspec.runners.ssh.transport.reconnecting.RECONNECT_S", 1.0)
    away = bed.hosts[1]
    directory = make_run(tmp_path, document(bed))
    try:
        with pytest.raises(RunFailed) as caught:
            execute(directory.path, observer=(seen := Cutting(moment, away)))
        assert away.address in str(caught.value)
        assert [
            finding.code for finding in read_run(directory.path).findings if finding.code == "F603"
        ], caught.value
        assert stands(bed) == [False, True, False], "\n".join(
            event.message for event in seen.events
        )
        refused = run_cli("clean", str(directory.path), "--yes", "--json")
        assert refused.returncode == 4
        (told,) = json.loads(refused.stdout)["runs"]
        assert not told["clean"]
        assert any(away.address in problem for problem in told["problems"])
        assert [away.address in left["why"] for left in told["left"]] == [True]
    finally:
        away.start_sshd()
    done = run_cli("clean", str(directory.path), "--yes")
    assert done.returncode == 0, done.stderr
    assert stands(bed) == [False] * 3


def test_under_a_trial_that_may_still_go_on_nothing_is_destroyed(
    bed: hosts.Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client's host is lost while it measures; the next controller collects it, and only then
    is the target destroyed.
    """
    monkeypatch.setattr("benchspec.runners.ssh.transport.reconnecting.RECONNECT_S", 1.0)
    client = bed.hosts[0]
    directory = make_run(
        tmp_path,
        document(
            bed, script=f"echo x >>/var/tmp/counter; sleep 3; test -d {STATE} && echo rate: 1"
        ),
    )

    def lose_it() -> None:
        settled(lambda: "x" in shown(client), "no trial began")
        client.stop_sshd()
        client.cut_connections()

    cut = threading.Thread(target=lose_it)
    try:
        cut.start()
        with pytest.raises(TransportLost):
            execute(directory.path)
        cut.join()
        assert stands(bed) == [True] * 3
        assert any(
            "is left up: a trial may still go on there" in f.message
            for f in read_run(directory.path).findings
        )
    finally:
        client.start_sshd()
    (trial,) = execute(directory.path)
    assert (trial.status, trial.reattached, shown(client)) == (TrialStatus.VALID, True, "x\n")
    assert stands(bed) == [False] * 3


def shown(host: hosts.Host) -> str:
    return host.shell("cat /var/tmp/counter 2>/dev/null", check=False)


def test_what_up_leaves_standing_is_used_by_runs_and_taken_down_by_down(
    bed: hosts.Bed, tmp_path: Path
) -> None:
    found = document(bed, script=f"test -d {STATE} && echo rate: 1")
    serve = "python3 -m http.server 8124 >/dev/null 2>&1 &"
    found["targets"]["a"]["lifecycle"]["bootstrap"].append(
        {"name": "serve", "on": "server", "run": ["sh", "-c", serve]}
    )
    spec = write_spec(tmp_path / "spec.yaml", found)
    refused = run_cli("up", str(spec), cwd=tmp_path)
    assert (refused.returncode, stands(bed)) == (2, [False] * 3)
    assert "there is no terminal to ask on" in refused.stderr
    done = run_cli("up", str(spec), "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = tmp_path / done.stdout.strip()
    assert (stands(bed), kept.parent) == ([True] * 3, tmp_path / "runs")
    for number in range(2):
        ran = run_cli(
            "run", str(spec), "--yes", "--out", str(tmp_path / f"run{number}"), cwd=tmp_path
        )
        assert ran.returncode == 0, ran.stderr
        journal = (tmp_path / f"run{number}" / "journal.ndjson").read_text("utf-8")
        assert '"type":"lifecycle.adopted"' in journal
        assert '"type":"lifecycle.started"' not in journal
        assert stands(bed) == [True] * 3
    assert any("http.server 8124" in line for line in bed.hosts[1].processes())
    again = run_cli("up", str(spec), "--yes", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "stands  a" in again.stderr
    left_alone = run_cli("clean", "--all", cwd=tmp_path)
    assert "left alone: a was left standing on purpose" in left_alone.stdout
    assert "no run" in run_cli("resume", str(kept), "--yes", cwd=tmp_path).stderr
    changed = document(bed, script="true", slow_s=1)
    other = run_cli("run", str(write_spec(tmp_path / "other.yaml", changed)), "--yes", cwd=tmp_path)
    assert other.returncode == 2
    assert "stands as another version of the spec brought it up" in other.stderr
    down = run_cli("down", str(spec), "--yes", cwd=tmp_path)
    assert down.returncode == 0, down.stderr
    assert (stands(bed), [log(host) for host in bed.hosts]) == ([False] * 3, [["up", "down"]] * 3)
    assert "nothing of" in run_cli("down", str(spec), cwd=tmp_path).stderr


KEPT = [
    ("always", "echo rate: 1", True),
    ("failed", "echo rate: 1", False),
    ("failed", "exit 1", True),
]


@pytest.mark.parametrize(("keep", "script", "stays"), KEPT)
def test_a_run_keeps_its_targets_as_it_is_told(
    bed: hosts.Bed, tmp_path: Path, keep: str, script: str, stays: bool
) -> None:
    spec = write_spec(tmp_path / "spec.yaml", document(bed, script=script))
    ran = run_cli("run", str(spec), "--yes", "--keep", keep, cwd=tmp_path)
    assert ran.returncode == (0 if "rate" in script else 4), ran.stderr
    assert stands(bed) == [stays] * 3
    assert ("kept standing: a; `benchspec down runs/counted-up-" in ran.stderr) is stays
    assert run_cli("down", str(spec), "--yes", cwd=tmp_path).returncode == 0
    assert [log(host) for host in bed.hosts] == [["up", "down"]] * 3


def kill_at(directory: RunDirectory, further: int, pause_s: float) -> str:
    """Kill a controller when it has written so many records: by what was done and not by the clock,
    so that a slow machine sees the same moments.
    """
    begun = progress(directory)
    with start_cli(
        "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.DEVNULL
    ) as process:
        settled(
            lambda: process.poll() is not None or progress(directory) >= begun + further,
            "the run stands still",
            120,
        )
        time.sleep(pause_s)
        process.kill()
    return records(directory.path)[-1].type


def progress(directory: RunDirectory) -> int:
    return len(records(directory.path)) if directory.journal_path.exists() else 0


def test_killed_at_random_moments_nothing_is_up_twice_and_nothing_is_left(
    bed: hosts.Bed, tmp_path: Path
) -> None:
    """The controller is killed again and again while it brings up, measures and destroys on three
    hosts; each resume goes on.
    """
    script = f'test -d {STATE} && printf x >>/var/tmp/counter && sleep 0.1 && echo "rate: 1"'
    found = document(bed, script=script, slow_s=0.1)
    found["method"] = {**ONCE, "sessions": 4}
    found["targets"]["a"]["lifecycle"]["per"] = "session"
    directory = make_run(tmp_path, found)
    moments = random.Random(20220407)
    killed = [
        kill_at(directory, moments.randint(1, 25), moments.uniform(0, 0.1)) for _ in range(KILLS)
    ]
    done = run_cli("resume", str(directory.path), "--yes", "--quiet")
    assert done.returncode == 0, (done.stderr, killed)
    assert [trial.status for trial in finished(directory.path)] == [TrialStatus.VALID] * 4, killed
    assert len(bed.hosts[0].shell("cat /var/tmp/counter")) <= len(
        [r for r in records(directory.path) if r.type == "trial.started"]
    )
    assert stands(bed) == [False] * 3
    errors = {
        r.data["error"]
        for r in records(directory.path)
        if r.type == "step.finished" and "error" in r.data
    }
    assert errors <= {"its controller ended before it was seen to end"}, killed
    assert [f.code for f in read_run(directory.path).findings if f.code.startswith("F60")] == [], (
        killed
    )
    if KILLS >= 20:
        assert len(set(killed)) >= 4, killed
