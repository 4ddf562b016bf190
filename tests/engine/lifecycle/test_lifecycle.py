"""Lifecycles on this host, with programs that write down what was really carried out."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchspec.engine.execution.run import find_problems
from benchspec.engine.language.load import load_spec
from benchspec.engine.model.diagnostics import InvalidSpec
from benchspec.engine.model.errors import DriftError, IntegrityError, Interrupted, RunFailed
from benchspec.engine.model.results import TrialStatus
from benchspec.engine.planning.plan import plan
from benchspec.engine.store.directory import RunDirectory
from benchspec.engine.store.read_run import read_run
from benchspec.workloads.registry import WORKLOADS
from tests.engine.execution.bench import (
    CATALOGUE,
    count,
    execute,
    make_run,
    records,
    run_cli,
    spec_document,
    start_cli,
    write_spec,
)

ONCE: Mapping[str, Any] = {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1}


def note(log: Path, text: str) -> list[str]:
    """The argv of a program that appends a line to ``log``."""
    return ["sh", "-c", 'echo "$1" >> "$0"', str(log), text]


def step(log: Path, name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "run": note(log, name)} | more


def document_with(
    tmp_path: Path, lifecycle: Mapping[str, Any], *, only_a: bool = True, **changes: Any
) -> dict[str, Any]:
    """A spec whose target ``a`` has ``lifecycle``, and whose trials write ``trial`` into the same
    log.
    """
    script = 'echo "trial $TARGET" >> "$LOG"; printf x >> "$COUNTER"; echo "rate: 42.5"'
    document = spec_document(tmp_path / "counter", script=script, **{"method": ONCE, **changes})
    document["workloads"]["count"]["with"]["env"] |= {"LOG": str(tmp_path / "log"), "TARGET": "x"}
    document["targets"]["a"]["lifecycle"] = dict(lifecycle)
    if only_a:
        document["targets"].pop("b")
        document.pop("compare")
    return document


def lines(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


def step_results(path: Path) -> list[dict[str, Any]]:
    return [record.data for record in records(path) if record.type == "step.finished"]


def test_components_come_first_then_the_target_then_ready_and_down_again_the_other_way(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    own = {
        "bootstrap": [step(log, "own-1"), step(log, "own-2")],
        "ready": [step(log, "own-up")],
        "destroy": [step(log, "own-down")],
    }
    document = document_with(tmp_path, own)
    document["targets"]["a"]["components"] = [
        {
            "name": name,
            "lifecycle": {
                "bootstrap": [step(log, name)],
                "ready": [step(log, f"{name}-up")],
                "destroy": [step(log, f"{name}-down")],
            },
        }
        for name in ("first", "second")
    ]
    execute(make_run(tmp_path, document).path)
    assert lines(tmp_path) == [
        *("first", "second", "own-1", "own-2", "first-up", "second-up", "own-up"),
        "trial x",
        *("own-down", "second-down", "first-down"),
    ]
    types = [
        r.type
        for r in records(tmp_path / "run")
        if r.type.startswith(("lifecycle", "step", "trial"))
    ]
    assert types[0] == "lifecycle.started"
    assert (
        types.index("step.started")
        < types.index("step.finished")
        < types.index("lifecycle.ready")
        < types.index("trial.started")
    )
    assert types[-1] == "lifecycle.destroyed"


def test_per_session_brings_up_and_destroys_in_every_session(tmp_path: Path) -> None:
    log = tmp_path / "log"
    document = document_with(
        tmp_path, {}, only_a=False, method={**ONCE, "sessions": 3, "trials": 2}
    )
    for name in ("a", "b"):
        document["targets"][name]["lifecycle"] = {
            "per": "session" if name == "a" else "run",
            "bootstrap": [step(log, f"{name}-up")],
            "destroy": [step(log, f"{name}-down")],
        }
    execute(make_run(tmp_path, document).path)
    found = [line for line in lines(tmp_path) if line != "trial x"]
    assert (
        found.count("a-up"),
        found.count("a-down"),
        found.count("b-up"),
        found.count("b-down"),
    ) == (3, 3, 1, 1)
    assert found[-1] == "b-down"
    up = False
    for line in found:
        if line.startswith("a-"):
            assert up is (line == "a-down")
            up = line == "a-up"
    assert {r["session"] for r in step_results(tmp_path / "run") if r["target"] == "a"} == {1, 2, 3}
    assert lines(tmp_path).count("trial x") == 12


def test_what_a_step_captures_goes_into_parameters_and_later_steps_as_it_is(tmp_path: Path) -> None:
    hostile = "a b; touch /tmp/owned-$(id -u) `id` 'q' \"z\" $HOME *"
    document = document_with(
        tmp_path,
        {
            "bootstrap": [
                {
                    "name": "say",
                    "run": ["printf", "address: %s\nport=81\n", hostile],
                    "capture": {"address": {"regex": "address: (.+)"}, "all": {"stdout": True}},
                },
                {
                    "name": "json",
                    "run": ["printf", '{"a": [{"b": 7}]}'],
                    "capture": {"b": {"jsonpath": "$.a[0].b"}},
                },
                {
                    "name": "use",
                    "run": note(
                        tmp_path / "log",
                        "<${output:say.address}> ${output:json.b} $${output:json.b}",
                    ),
                },
                {
                    "name": "env",
                    "run": ["sh", "-c", 'echo "$X" >> "$0"', str(tmp_path / "log")],
                    "env": {"X": "is ${output:say.address}"},
                },
            ]
        },
    )
    document["workloads"]["count"]["with"]["env"]["TARGET"] = (
        "${output:say.address}-${output:json.b}"
    )
    (trial,) = execute(make_run(tmp_path, document).path)
    assert trial.status is TrialStatus.VALID
    assert lines(tmp_path) == [
        f"<{hostile}> 7 ${{output:json.b}}",
        f"is {hostile}",
        f"trial {hostile}-7",
    ]
    said = step_results(tmp_path / "run")[0]
    assert said["outputs"] == {"address": hostile, "all": f"address: {hostile}\nport=81"}
    assert (said["exit_code"], "error" in said) == (0, False)
    assert (
        tmp_path / "run" / said["raw"][1]["path"]
    ).read_bytes() == f"address: {hostile}\nport=81\n".encode()


@pytest.mark.parametrize(
    ("printed", "capture", "told"),
    [
        (
            "port 81",
            {"regex": "address: (.+)"},
            "found no match, expected regex address: (.+); the output was 'port 81'",
        ),
        ("", {"stdout": True}, "found nothing, expected stdout True; the output was empty"),
        ('{"a": [1, 2]}', {"jsonpath": "$.a[*]"}, "found 2 values"),
        ('{"a": {}}', {"jsonpath": "$.a"}, "found an object or a list"),
        ("no json", {"jsonpath": "$.a"}, "found no JSON"),
        ("x ${secret:env:HOME}", {"stdout": True}, "found a reference such as"),
        (r"\377", {"stdout": True}, "found bytes that are no text"),
    ],
)
def test_what_cannot_be_captured_fails_the_step_and_says_what_was_expected(
    tmp_path: Path, printed: str, capture: dict[str, Any], told: str
) -> None:
    printing = {
        "name": "say",
        "run": ["printf", printed.replace("${", "$${")],
        "capture": {"it": capture},
    }
    with pytest.raises(RunFailed) as caught:
        execute(make_run(tmp_path, document_with(tmp_path, {"bootstrap": [printing]})).path)
    assert f"bootstrap step say failed: capture it: {told}" in str(caught.value)
    assert count(tmp_path / "counter") == 0


def test_a_step_is_tried_as_often_as_it_says_and_every_try_is_in_the_journal(
    tmp_path: Path,
) -> None:
    script = 'printf x >> "$0"; n=$(wc -c < "$0"); echo "try $n"; [ "$n" -ge 3 ]'
    flaky = {
        "name": "flaky",
        "run": ["sh", "-c", script, str(tmp_path / "tries")],
        "retries": 5,
        "retry_delay": "10 ms",
    }
    execute(
        make_run(
            tmp_path,
            document_with(tmp_path, {"bootstrap": [flaky | {"capture": {"n": {"stdout": True}}}]}),
        ).path
    )
    results = step_results(tmp_path / "run")
    assert [(r["number"], r["exit_code"], r.get("error")) for r in results] == [
        (1, 1, "exit code 1"),
        (2, 1, "exit code 1"),
        (3, 0, None),
    ]
    assert [(tmp_path / "run" / r["raw"][1]["path"]).read_bytes() for r in results] == [
        b"try 1\n",
        b"try 2\n",
        b"try 3\n",
    ]
    jobs = [r.data["job_id"] for r in records(tmp_path / "run") if r.type == "step.started"]
    assert len(set(jobs)) == 3
    assert count(tmp_path / "tries") == 3


def test_a_step_that_hangs_is_killed_with_its_group(tmp_path: Path) -> None:
    hanging = {"name": "hang", "run": ["sh", "-c", "sleep 4712 & sleep 4712"], "timeout": "300 ms"}
    with pytest.raises(RunFailed, match=r"bootstrap step hang failed: did not end within 0\.3 s"):
        execute(make_run(tmp_path, document_with(tmp_path, {"bootstrap": [hanging]})).path)
    assert (
        subprocess.run(["pgrep", "-f", "sleep 4712"], capture_output=True, check=False).stdout
        == b""
    )


def test_a_target_that_does_not_come_up_fails_alone_and_is_destroyed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lifecycle = {
        "bootstrap": [
            step(log, "first"),
            {"name": "broken", "run": ["sh", "-c", "echo no such thing >&2; exit 3"]},
            step(log, "never"),
        ],
        "destroy": [step(log, "down")],
    }
    directory = make_run(
        tmp_path, document_with(tmp_path, lifecycle, only_a=False, method={**ONCE, "sessions": 2})
    )
    with pytest.raises(
        RunFailed,
        match="not measured: bootstrap step broken failed: exit code 3; stderr: no such thing",
    ):
        execute(directory.path)
    run = read_run(directory.path)
    target = {e.id: e.target for e in run.experiments}
    assert [
        (target[t.experiment_id], t.status) for t in run.trials if t.status is TrialStatus.FAILED
    ] == [("a", TrialStatus.FAILED)] * 2
    assert [target[t.experiment_id] for t in run.trials if t.status is TrialStatus.VALID] == [
        "b",
        "b",
    ]
    assert sorted(lines(tmp_path)) == ["down", "first", "trial x", "trial x"]


def test_a_destroy_step_that_fails_is_a_finding_and_the_others_go_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lifecycle = {
        "bootstrap": [step(log, "up")],
        "destroy": [
            {"name": "bad", "run": ["sh", "-c", f"echo bad >> {log}; test -e {tmp_path}/ok"]},
            step(log, "down"),
        ],
    }
    directory = make_run(tmp_path, document_with(tmp_path, lifecycle))
    (trial,) = execute(directory.path)
    assert trial.status is TrialStatus.VALID
    assert lines(tmp_path) == ["up", "trial x", "bad", "down"]
    assert [(f.code, f.target) for f in read_run(directory.path).findings] == [("F603", "a")]
    done = run_cli("clean", str(directory.path), "--yes")
    assert (done.returncode, "destroy step bad failed: exit code 1" in done.stderr) == (4, True)
    (tmp_path / "ok").touch()
    assert run_cli("clean", str(directory.path), "--yes").returncode == 0
    assert lines(tmp_path)[4:] == ["bad", "bad"], "what had succeeded is not done again"
    assert run_cli("clean", str(directory.path)).returncode == 0, (
        "nothing is up, so nothing needs consent"
    )


def test_a_signal_destroys_what_was_brought_up_and_resume_brings_it_up_again(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    document = document_with(
        tmp_path,
        {"bootstrap": [step(log, "up")], "destroy": [step(log, "down")]},
        method={**ONCE, "trials": 4},
    )
    document["workloads"]["count"]["with"]["run"][2] = (
        'printf x >> "$COUNTER"; sleep 0.4; echo "rate: 1"'
    )
    directory = make_run(tmp_path, document)
    with start_cli(
        "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.PIPE
    ) as process:
        wait_until(lambda: count(tmp_path / "counter") >= 2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert lines(tmp_path) == ["up", "down"]
    assert len(execute(directory.path)) >= 4
    assert lines(tmp_path) == ["up", "down"] * 2


def test_a_signal_during_a_bootstrap_step_cancels_it_and_destroys(tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = {"name": "slow", "run": ["sh", "-c", f"echo slow >> {log}; sleep 4713"]}
    directory = make_run(
        tmp_path, document_with(tmp_path, {"bootstrap": [slow], "destroy": [step(log, "down")]})
    )
    alarm = subprocess.Popen(
        ["sh", "-c", f"until test -s {log}; do sleep 0.05; done; kill -INT {os.getpid()}"]
    )
    with pytest.raises(Interrupted):
        execute(directory.path)
    alarm.wait()
    assert lines(tmp_path) == ["slow", "down"]
    assert step_results(directory.path)[0]["error"] == "interrupted"
    assert (
        subprocess.run(["pgrep", "-f", "sleep 4713"], capture_output=True, check=False).stdout
        == b""
    )


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def killed_while(directory: RunDirectory, holds: Any) -> None:
    """Kill the controller of a run, and nothing else, once ``holds``."""
    with start_cli(
        "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.DEVNULL
    ) as process:
        wait_until(holds)
        process.kill()


def test_after_a_kill_the_interrupted_bring_up_is_destroyed_then_brought_up_again(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    slow: dict[str, Any] = {
        "name": "slow",
        "run": [
            "sh",
            "-c",
            'echo "slow begins" >> "$0"; sleep 1; echo "slow ends" >> "$0"; echo id-7',
            str(log),
        ],
    }
    slow["capture"] = {"id": {"stdout": True}}
    down = {"name": "down", "run": note(log, "down ${output:slow.id}")}
    directory = make_run(
        tmp_path, document_with(tmp_path, {"bootstrap": [slow], "destroy": [down]})
    )
    killed_while(directory, lambda: lines(tmp_path) == ["slow begins"])
    (trial,) = execute(directory.path)
    assert trial.status is TrialStatus.VALID
    once = ["slow begins", "slow ends"]
    assert lines(tmp_path) == [*once, "down id-7", *once, "trial x", "down id-7"]
    assert [
        r.data["attempt"]
        for r in records(directory.path)
        if r.type in ("lifecycle.started", "lifecycle.destroyed")
    ] == [1, 1, 2, 2]


def test_after_a_kill_while_measuring_a_finished_trial_is_kept_and_the_target_comes_up_anew(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    document = document_with(
        tmp_path,
        {"bootstrap": [step(log, "up")], "destroy": [step(log, "down")]},
        method={**ONCE, "trials": 2},
    )
    document["workloads"]["count"]["with"]["run"][2] = (
        'printf x >> "$COUNTER"; sleep 1; echo "rate: 1"'
    )
    directory = make_run(tmp_path, document)
    killed_while(directory, lambda: count(tmp_path / "counter") == 1)
    trials = execute(directory.path)
    assert [t.reattached for t in trials] == [True, False]
    assert count(tmp_path / "counter") == 2
    assert lines(tmp_path) == ["up", "down"] * 2


def test_killed_at_random_moments_no_target_is_ever_up_twice_or_measured_while_down(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    lifecycle = {
        "per": "session",
        "bootstrap": [
            {
                "name": "up",
                "run": [
                    "sh",
                    "-c",
                    'sleep 0.1; mkdir "$0"; sleep 0.1; touch "$0/whole"',
                    str(state),
                ],
            }
        ],
        "destroy": [
            {"name": "down", "run": ["sh", "-c", 'sleep 0.1; rm -rf "$0"; sleep 0.1', str(state)]}
        ],
    }
    document = document_with(tmp_path, lifecycle, method={**ONCE, "sessions": 4})
    document["workloads"]["count"]["with"]["run"][2] = (
        f'test -e {state}/whole && sleep 0.2 && echo "rate: 1"'
    )
    directory = make_run(tmp_path, document)
    moments = random.Random(20230320)
    for _ in range(6):
        with start_cli(
            "resume", str(directory.path), "--yes", "--quiet", stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(moments.uniform(0.6, 1.8))
            process.kill()
    trials = execute(directory.path)
    assert [t.status for t in trials] == [TrialStatus.VALID] * 4
    assert not state.exists()
    assert {r["error"] for r in step_results(directory.path) if "error" in r} <= {
        "its controller ended before it was seen to end"
    }
    assert read_run(directory.path).findings == ()


def test_clean_destroys_what_the_journal_says_is_up_after_showing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    document = document_with(
        tmp_path, {"bootstrap": [step(log, "up")], "destroy": [step(log, "down")]}
    )
    document["workloads"]["count"]["with"]["run"][2] = 'printf x >> "$COUNTER"; sleep 60'
    directory = make_run(tmp_path, document)
    killed_while(directory, lambda: count(tmp_path / "counter") == 1)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "stranger"))
        refused = run_cli("clean", str(directory.path))
    assert (refused.returncode, lines(tmp_path)) == (2, ["up"])
    assert "a: destroy down on this machine: sh -c" in refused.stderr
    done = run_cli("clean", str(directory.path))
    assert done.returncode == 0, done.stderr
    assert lines(tmp_path) == ["up", "down"]
    run_id = directory.run_id
    assert subprocess.run(["pgrep", "-f", run_id], capture_output=True, check=False).stdout == b""


def test_a_script_is_copied_when_the_run_is_made_and_executed_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    script = tmp_path / "steps" / "up.py"
    script.write_text(
        f"#!{sys.executable} -I\nimport os, sys\nopen(os.environ['LOG'],"
        " 'a').write(f'{sys.flags.isolated} as it was\\n')\n"
    )
    (tmp_path / "plain.sh").write_text('echo "by sh" >> "$LOG"\n')
    env = {"LOG": str(tmp_path / "log")}
    steps = [
        {"name": "up", "script": "steps/up.py", "env": env},
        {"name": "plain", "script": "plain.sh", "env": env},
    ]
    directory = make_run(
        tmp_path,
        document_with(
            tmp_path, {"bootstrap": steps, "destroy": [{"name": "down", "run": ["true"]}]}
        ),
    )
    was = script.read_bytes()
    script.write_text("exit 1\n")
    (tmp_path / "plain.sh").unlink()
    execute(directory.path)
    assert lines(tmp_path) == ["1 as it was", "by sh", "trial x"]
    assert (directory.path / "scripts" / "steps" / "up.py").read_bytes() == was
    assert directory.manifest["sha256"].keys() >= {"scripts/steps/up.py", "scripts/plain.sh"}


def test_a_copied_script_that_was_changed_is_not_executed(tmp_path: Path) -> None:
    (tmp_path / "up.sh").write_text("true\n")
    directory = make_run(
        tmp_path, document_with(tmp_path, {"bootstrap": [{"name": "up", "script": "up.sh"}]})
    )
    (directory.path / "scripts" / "up.sh").write_text(f"touch {tmp_path}/touched\n")
    with pytest.raises(IntegrityError, match=r"up\.sh"):
        execute(directory.path)
    assert not (tmp_path / "touched").exists()


SERVER = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Answer.asked += 1
        self.send_response(200 if Answer.asked > 2 else 503)
        self.end_headers()
        self.wfile.write(b'{"state": "warm"}')
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
open(sys.argv[1], "w").write(str(server.server_port))
server.serve_forever()
"""


def test_a_server_left_running_by_a_step_is_awaited_and_ends_with_its_target(
    tmp_path: Path,
) -> None:
    port_file = tmp_path / "port"
    script = '"$1" -c "$2" "$0" >/dev/null 2>&1 & until test -s "$0"; do sleep 0.05; done; cat "$0"'
    starting = {
        "name": "serve",
        "run": ["sh", "-c", script, str(port_file), sys.executable, SERVER],
        "capture": {"port": {"stdout": True}},
    }
    ready = [
        {"name": "listens", "wait": {"tcp": "127.0.0.1:${output:serve.port}"}, "timeout": "10 s"},
        {
            "name": "warm",
            "wait": {"http": "http://127.0.0.1:${output:serve.port}/x"},
            "timeout": "10 s",
            "capture": {"state": {"jsonpath": "$.state"}},
        },
        {"name": "rest", "wait": {"seconds": "10 ms"}},
    ]
    document = document_with(tmp_path, {"bootstrap": [starting], "ready": ready})
    document["workloads"]["count"]["with"]["env"]["TARGET"] = (
        "${output:warm.state} ${output:serve.port}"
    )
    execute(make_run(tmp_path, document).path)
    port = int(port_file.read_text())
    assert lines(tmp_path) == [f"trial warm {port}"]
    assert (
        subprocess.run(["pgrep", "-f", str(port_file)], capture_output=True, check=False).stdout
        == b""
    )


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        ({"tcp": "127.0.0.1:1"}, "tcp 127.0.0.1:1 did not answer within 0.2 s"),
        ({"http": "http://127.0.0.1:1/"}, "http http://127.0.0.1:1/ did not answer within 0.2 s"),
        ({"seconds": "5 s"}, "the time to wait, 5 s, is longer than the step's timeout of 0.2 s"),
    ],
)
def test_a_wait_in_vain_fails_its_target(tmp_path: Path, wait: dict[str, str], told: str) -> None:
    document = document_with(
        tmp_path, {"ready": [{"name": "up", "wait": wait, "timeout": "200 ms"}]}
    )
    with pytest.raises(RunFailed) as caught:
        execute(make_run(tmp_path, document).path)
    assert f"ready step up failed: {told}" in str(caught.value)


def test_secrets_reach_steps_through_their_environment_and_are_never_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "canary-4711")
    env = {"TOKEN": "Bearer ${secret:env:TEST_TOKEN}"}
    lifecycle = {
        "bootstrap": [
            {
                "name": "ask",
                "run": ["sh", "-c", 'echo "$TOKEN"; echo "$TOKEN" >&2'],
                "env": env,
                "capture": {"header": {"stdout": True}},
            },
            {
                "name": "use",
                "run": [
                    "sh",
                    "-c",
                    'test "$${#H}" = 18; echo "same: $?" >> "$0"',
                    str(tmp_path / "log"),
                ],
                "env": {"H": "${output:ask.header}"},
            },
        ],
        "destroy": [{"name": "down", "run": ["sh", "-c", 'echo "$TOKEN"; exit 9'], "env": env}],
    }
    directory = make_run(tmp_path, document_with(tmp_path, lifecycle))
    execute(directory.path)
    assert lines(tmp_path) == ["same: 0", "trial x"]
    files = [p for p in directory.path.rglob("*") if p.is_file()]
    assert not [p for p in files if b"canary-4711" in p.read_bytes()]
    asked = step_results(directory.path)[0]
    assert (asked["withheld"], "outputs" in asked) == (["header"], False)
    assert (directory.path / asked["raw"][0]["path"]).read_bytes() == b"Bearer [redacted]\n"


def test_an_output_that_holds_a_secret_goes_into_no_argument_and_no_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "canary-4711")
    ask = {
        "name": "ask",
        "run": ["sh", "-c", 'echo "$T"'],
        "env": {"T": "${secret:env:TEST_TOKEN}"},
        "capture": {"it": {"stdout": True}},
    }
    document = document_with(
        tmp_path, {"bootstrap": [ask, {"name": "use", "run": ["echo", "${output:ask.it}"]}]}
    )
    with pytest.raises(RunFailed, match="holds a secret"):
        execute(make_run(tmp_path, document, "step").path)
    document = document_with(tmp_path, {"bootstrap": [ask]})
    document["workloads"]["count"]["with"]["env"]["TARGET"] = "${output:ask.it}"
    with pytest.raises(RunFailed, match="holds a secret"):
        execute(make_run(tmp_path, document, "parameter").path)
    assert count(tmp_path / "counter") == 0


def test_claims_and_tools_are_looked_at_when_the_target_is_up(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "made-by-a-step"
    script = (
        'mkdir -p "$(dirname "$0")"; printf "#!/bin/sh\\necho rate: 1\\n" > "$0"; chmod +x "$0"'
    )
    document = document_with(
        tmp_path, {"bootstrap": [{"name": "install", "run": ["sh", "-c", script, str(program)]}]}
    )
    document["workloads"]["count"]["with"]["run"] = [str(program)]
    (trial,) = execute(make_run(tmp_path, document).path)
    assert trial.status is TrialStatus.VALID
    assert {f.when for f in read_run(tmp_path / "run").facts} == {"before", "up", "after"}
    document["targets"]["a"]["facts"] = {"os.id": "plan9"}
    document["targets"]["a"]["lifecycle"]["destroy"] = [step(tmp_path / "log", "down")]
    with pytest.raises(DriftError, match="plan9"):
        execute(make_run(tmp_path, document, "drift").path)
    assert lines(tmp_path) == ["down"]


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"manifest": "x.yaml"}, "step s: found manifest, expected run, script or another wait"),
        ({"chart": {"name": "vault"}}, "step s: found chart"),
        ({"wait": {"condition": "pod/x Ready"}}, "step s: found wait: condition"),
        ({"run": ["true"], "on": "control-plane"}, "this host has no control plane"),
        (
            {"wait": {"tcp": "a:1"}, "capture": {"x": {"stdout": True}}},
            "found capture at a wait that prints nothing",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_refused_before_anything_is_created(
    tmp_path: Path, part: dict[str, Any], told: str
) -> None:
    (tmp_path / "x.yaml").touch()
    loaded = load_spec(
        write_spec(
            tmp_path / "spec.yaml", document_with(tmp_path, {"bootstrap": [{"name": "s"} | part]})
        )
    )
    (problem,) = find_problems(plan(loaded, WORKLOADS), loaded.spec, CATALOGUE)
    assert problem.message.startswith("target a: ")
    assert told in problem.message


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ({"run": ["echo", "${secret:env:HOME}"]}, "BS303"),
        ({"run": ["true"], "capture": {"x": {"regex": "(a*)*"}}}, "BS227"),
        ({"run": ["true"], "capture": {"x": {"jsonpath": "a"}}}, "BS227"),
        ({"run": ["true"], "on": "everywhere"}, "BS1"),
        ({"run": ["true"], "on": ["client", "client"]}, "BS1"),
    ],
)
def test_what_no_runner_could_carry_out_is_refused_when_the_spec_is_read(
    tmp_path: Path, part: dict[str, Any], code: str
) -> None:
    with pytest.raises(InvalidSpec, match=code):
        load_spec(
            write_spec(
                tmp_path / "spec.yaml",
                document_with(tmp_path, {"bootstrap": [{"name": "s"} | part]}),
            )
        )


def test_roles_and_sites_a_target_has_not_got_and_outputs_that_come_too_late_are_refused(
    tmp_path: Path,
) -> None:
    document = document_with(
        tmp_path, {"per": "run", "ready": [{"name": "s", "run": ["echo", "${output:c.x}"]}]}
    )
    document["sites"] = {"here": {"kind": "local"}, "there": {"kind": "local"}}
    target = document["targets"]["a"]
    del target["runner"]
    target["sites"] = {"client": "here", "server": "there"}
    target["lifecycle"]["bootstrap"] = [
        {"name": "r", "run": ["true"], "on": "storage"},
        {"name": "t", "run": ["true"], "on": "client", "site": "there"},
    ]
    target["components"] = [
        {
            "name": "c",
            "lifecycle": {
                "per": "session",
                "bootstrap": [
                    {"name": "c", "run": ["echo", "1"], "capture": {"x": {"stdout": True}}}
                ],
            },
        }
    ]
    loaded = load_spec(write_spec(tmp_path / "spec.yaml", document))
    messages = [p.message for p in find_problems(plan(loaded, WORKLOADS), loaded.spec, CATALOGUE)]
    assert messages == [
        "target a: step s: found ${output:c.x}, which only exists within a session",
        "target a: step r: found on: storage, which the target has not got",
        "target a: step t: found on: client site: there, which the target has not got",
    ]


def test_run_shows_every_step_and_needs_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "up.sh").write_text("true\n")
    lifecycle = {
        "bootstrap": [{"name": "up", "script": "up.sh", "env": {"A": "b c"}}],
        "ready": [{"name": "z", "wait": {"seconds": "1 ms"}}],
    }
    spec = write_spec(tmp_path / "spec.yaml", document_with(tmp_path, lifecycle))
    done = run_cli("run", str(spec), "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    sha256 = hashlib.sha256(b"true\n").hexdigest()[:12]
    told = f"  a: bootstrap up on this machine: script up.sh (sha256 {sha256}) with A='b c'\n"
    assert told in done.stderr
    assert "ready z" not in done.stderr, "to let time pass nobody need be asked"
    assert not (tmp_path / "run").exists()
    done = run_cli("run", str(spec), "--out", str(tmp_path / "run"), "--yes", "--json-lines")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    assert [e["message"].split(" (")[0] for e in events if e["event"] == "step.finished"] == [
        "done    a bootstrap step up",
        "done    a ready step z",
    ]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "stranger"))
    told_again = run_cli("resume", str(tmp_path / "run"), "--yes").stderr
    assert f"script up.sh (sha256 {sha256})" in told_again


def test_nothing_but_run_and_resume_carries_steps_out(tmp_path: Path) -> None:
    spec = write_spec(
        tmp_path / "spec.yaml",
        document_with(tmp_path, {"bootstrap": [step(tmp_path / "log", "up")]}),
    )
    for verb in (
        ("validate", str(spec)),
        ("plan", str(spec)),
        ("diff", str(spec), str(spec)),
        ("explain", "targets[].lifecycle"),
    ):
        assert run_cli(*verb).returncode == 0
    assert "  a: bootstrap up on this machine: sh -c" in run_cli("plan", str(spec)).stdout
    assert lines(tmp_path) == []


def test_a_program_that_is_not_there_and_an_output_that_never_came_are_told(tmp_path: Path) -> None:
    lifecycle = {
        "bootstrap": [
            {"name": "gone", "run": ["no-such-program-y"], "capture": {"id": {"stdout": True}}}
        ],
        "destroy": [
            {"name": "down", "run": ["echo", "${output:gone.id}"]},
            step(tmp_path / "log", "last"),
        ],
    }
    directory = make_run(tmp_path, document_with(tmp_path, lifecycle))
    with pytest.raises(
        RunFailed, match="bootstrap step gone failed: no program 'no-such-program-y'"
    ):
        execute(directory.path)
    (finding,) = read_run(directory.path).findings
    assert (
        "destroy step down was not started: ${output:gone.id} was not captured" in finding.message
    )
    assert lines(tmp_path) == ["last"]


def test_a_signal_ends_a_wait(tmp_path: Path) -> None:
    lifecycle = {
        "ready": [{"name": "rest", "wait": {"seconds": "60 s"}, "timeout": "2 min"}],
        "destroy": [step(tmp_path / "log", "down")],
    }
    directory = make_run(tmp_path, document_with(tmp_path, lifecycle))
    alarm = subprocess.Popen(
        [
            "sh",
            "-c",
            (
                f"until grep -q step.started {directory.journal_path}; do sleep 0.05; done; kill"
                f" -TERM {os.getpid()}"
            ),
        ]
    )
    with pytest.raises(Interrupted):
        execute(directory.path)
    alarm.wait()
    assert step_results(directory.path)[0]["error"] == "interrupted"
    assert lines(tmp_path) == ["down"]


def test_what_a_step_printed_is_not_kept_when_its_secret_cannot_be_read_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary-4711\n")
    steps = [
        {
            "name": "burn",
            "run": ["sh", "-c", f'echo "$T"; rm {secret}'],
            "env": {"T": f"${{secret:file:{secret}}}"},
        }
    ]
    directory = make_run(tmp_path, document_with(tmp_path, {"bootstrap": steps}))
    with pytest.raises(RunFailed, match="what it printed is not kept"):
        execute(directory.path)
    assert not [
        p for p in directory.path.rglob("*") if p.is_file() and b"canary-4711" in p.read_bytes()
    ]


def test_a_value_the_workload_cannot_use_fails_its_trials_only(tmp_path: Path) -> None:
    document = document_with(
        tmp_path,
        {
            "bootstrap": [
                {"name": "say", "run": ["echo", "soon"], "capture": {"it": {"stdout": True}}}
            ]
        },
        only_a=False,
    )
    document["targets"]["b"]["lifecycle"] = {
        "bootstrap": [{"name": "say", "run": ["echo", "5 s"], "capture": {"it": {"stdout": True}}}]
    }
    document["workloads"]["count"]["with"]["timeout"] = "${output:say.it}"
    directory = make_run(tmp_path, document)
    with pytest.raises(RunFailed, match="soon"):
        execute(directory.path)
    assert sorted(t.status for t in read_run(directory.path).trials) == [
        TrialStatus.FAILED,
        TrialStatus.VALID,
    ]
