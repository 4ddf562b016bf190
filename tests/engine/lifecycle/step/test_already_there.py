"""A server that is not the target's own is never taken for it: nginx beside busybox httpd on one
port, and a server that was left from before.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchspec.engine.lifecycle.step.already_there import refuse_what_answers
from benchspec.engine.model.errors import RunFailed
from benchspec.engine.model.spec import Json, Step
from benchspec.engine.store.read_run import read_run
from benchspec.runners.local.ports import free_ports
from tests.engine.execution.bench import run_cli, spec_document, write_spec
from tests.engine.lifecycle.test_leftover_daemons import NGINX, ONCE

pytestmark = pytest.mark.skipif(
    None in map(shutil.which, ("busybox", "nginx")), reason="needs busybox and nginx: tests/setup"
)


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def left(port: int, tmp_path: Path) -> Iterator[int]:
    """A server that somebody left on ``port``; its process id."""
    argv = ["busybox", "httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", str(tmp_path)]
    with subprocess.Popen(argv) as process:
        for _ in range(200):
            if f":{port:04X} " in Path("/proc/net/tcp").read_text():
                break
            time.sleep(0.02)
        yield process.pid
        process.kill()


def wait(**arguments: Json) -> Step:
    return Step(name="up", action="wait", arguments=arguments)


@pytest.mark.parametrize("where", ["127.0.0.1:{}", "localhost:{}"])
def test_the_process_that_listens_is_named(where: str, port: int, left: int) -> None:
    place = where.format(port)
    for one in (wait(tcp=place), wait(http=f"http://{place}/x")):
        with pytest.raises(RunFailed, match=f"answers already.*busybox, pid {left}, listens"):
            refuse_what_answers("a", [one])


def test_what_does_not_answer_or_is_not_known_yet_is_no_clash(port: int) -> None:
    unknown = wait(http="http://${output:up.address}:80/")
    refuse_what_answers("a", [wait(tcp=f"127.0.0.1:{port}"), unknown, wait(seconds="1 s")])


def served(script: str, port: int) -> dict[str, object]:
    return {
        "bootstrap": [{"name": "serve", "run": ["sh", "-c", script.format(port=port)]}],
        "ready": [{"name": "up", "wait": {"tcp": f"127.0.0.1:{port}"}, "timeout": "20 s"}],
        "destroy": [{"name": "down", "run": ["true"]}],
    }


def test_two_servers_on_one_port_are_not_measured_as_one_another(port: int, tmp_path: Path) -> None:
    document = spec_document(tmp_path / "counter", script="echo rate: 1", method=ONCE)
    nginx = served(NGINX.replace("{daemon}", "on"), port)
    busybox = served('busybox httpd -f -p 127.0.0.1:{port} -h "$PWD" &', port)
    document["targets"] = {
        "a": {"title": "nginx", "runner": "local", "lifecycle": nginx},
        "b": {"title": "busybox httpd", "runner": "local", "lifecycle": busybox},
    }
    spec = write_spec(tmp_path / "spec.yaml", document)
    done = run_cli("run", str(spec), "--out", str(tmp_path / "run"), "--yes")
    assert done.returncode not in {0, 1}
    run = read_run(tmp_path / "run")
    valid = {one.experiment_id for one in run.trials if one.status.value == "valid"}
    measured = {one.target for one in run.experiments if one.id in valid}
    assert len(measured) == 1  # whichever came first
    assert f"127.0.0.1:{port} answers already, before" in done.stderr + done.stdout
