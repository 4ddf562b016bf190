"""Daemons that lose the marks of their run: they end with their allocation, stand until `down`, and `clean` finds those of a killed controller.

Whether one is there is seen by its port, independently of what benchspec looks at.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import hosts
from tests.engine.execution.bench import run_cli, spec_document, start_cli, write_spec

PYTHON = shutil.which("python3", path="/usr/bin:/bin")
ONCE: Mapping[str, Any] = {"sessions": 1, "trials": 1, "warmups": 0, "seed": 1}

NGINX = """
mkdir -p logs
cat >nginx.conf <<END
pid logs/nginx.pid;
error_log logs/error.log;
daemon {daemon};
events {{ }}
http {{ access_log off; client_body_temp_path logs; proxy_temp_path logs; fastcgi_temp_path logs; uwsgi_temp_path logs; scgi_temp_path logs;
    server {{ listen 127.0.0.1:{port}; return 200 here; }} }}
END
nginx -p "$PWD" -c nginx.conf &
"""
POSTGRES = """
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -n 1) d=$PWD/data as=
if [ "$(id -u)" = 0 ]; then # it does not run as root, and nobody else may enter here
    d=$(mktemp -d /tmp/kept-{port}-XXXXXX) as='setpriv --reuid=65534 --regid=65534 --clear-groups'
    chown 65534:65534 "$d"
fi
cd /
$as initdb -D "$d/db" -A trust >/dev/null
$as pg_ctl -D "$d/db" -l "$d/log" -o "-p {port} -h 127.0.0.1 -k ''" -w start >/dev/null
"""
FORKS = (
    'env -i {python} -c "import os; os.fork() and os._exit(0); os.setsid(); os.fork() and'
    " os._exit(0); os.execv('{python}', ['{python}', '-m', 'http.server', '--bind', '127.0.0.1',"
    " '{port}'])\" </dev/null >/dev/null 2>&1"
)
WEB = "{python} -m http.server --bind 127.0.0.1"
# The one before the last keeps nothing but its command line and its socket; the last its session
DAEMONS = {
    "nginx, a daemon": NGINX.replace("{daemon}", "on"),
    "nginx in the background": NGINX.replace("{daemon}", "off"),
    "redis-server in the background": "redis-server --bind 127.0.0.1 --port {port} --save '' &",
    "redis-server, a daemon": "redis-server --bind 127.0.0.1 --port {port} --save '' --daemonize yes",
    "a session of its own": f"setsid nohup {WEB} {{port}} >/dev/null 2>&1 &",
    "an empty environment": f"env -i setsid {WEB} {{port}} >/dev/null 2>&1 &",
    "a file that is open": f"cd / && env -i setsid {WEB} {{port}} >/dev/null &",
    "a command line": f'd=$PWD; cd / && env -i setsid {WEB} -d "$d" {{port}} >/dev/null 2>&1 &',
    "PostgreSQL": POSTGRES,
    "a double fork": FORKS,
    "the session of the step": "cd / && redis-server --bind 127.0.0.1 --port {port} --save '' >/dev/null 2>&1 &",
}
GIVES_ALL_UP = "keeps nothing"
STEPS = {**DAEMONS, GIVES_ALL_UP: f"cd /; {FORKS}"}
# What a user may do beside a run: the same program elsewhere; $1 is a directory of the run, $2 tells the process apart
BYSTANDERS = """
cd /tmp
setsid -f {python} -m http.server --bind 127.0.0.1 "$2" >/dev/null 2>&1
setsid -f sh -c 'exec sleep "$1"' sh "$2" </dev/null >/dev/null 2>&1
setsid -f sh -c 'while sleep "$2"; do :; done' "$1" - "$2".1 </dev/null >/dev/null 2>&1
setsid -f script -qc "cd '$1' && exec sleep $2.2" /dev/null </dev/null >/dev/null 2>&1
setsid -f sh -c '(cd "$1" && exec sleep "$2") & wait' sh "$1" "$2.3" </dev/null >/dev/null 2>&1
"""
SLEEPERS = ("", ".1", ".2", ".3")


@dataclass(frozen=True)
class Place:
    """Where the target is: this machine, or a host; and how it is looked at from outside."""

    runner: Any
    shell: Callable[[str], str]
    state: str

    def listening(self, ports: Mapping[str, int]) -> list[str]:
        """Whose ports are listened on."""
        found = self.shell("ss -Hltn | awk '{ print $4 }'").split()
        return [name for name, port in ports.items() if f"127.0.0.1:{port}" in found]

    def sleeping(self, number: int) -> list[str]:
        """The bystanders that sleep."""
        return [end for end in SLEEPERS if self.shell(f"pgrep -fx 'sleep {number}{end}'")]

    def spec(self, path: Path, ports: Mapping[str, int], *, trial: str = "echo rate: 1") -> Path:
        """A target whose lifecycle starts daemons."""
        document = spec_document(path.with_name("counter"), script=trial, method=ONCE)
        del document["targets"]["b"], document["compare"]
        steps, ready = [], []
        for number, (name, port) in enumerate(ports.items()):
            script = f"mkdir {port} && cd {port}; " + STEPS[name].format(port=port, python=PYTHON)
            steps.append({"name": f"serve{number}", "run": ["sh", "-c", script]})
            ready.append(
                {"name": f"port{number}", "wait": {"tcp": f"127.0.0.1:{port}"}, "timeout": "60 s"}
            )
        removed = " ".join(f"/tmp/kept-{port}-*" for port in ports.values())
        down = [{"name": "down", "run": ["sh", "-c", f"rm -rf {removed}"]}]
        document["targets"]["a"] = {
            "runner": self.runner,
            "lifecycle": {"bootstrap": steps, "ready": ready, "destroy": down},
        }
        return write_spec(path, document)


@cache
def bed() -> hosts.Bed:
    """One host for all tests of this process, which ends with it."""
    if (problem := hosts.missing("nginx", "redis-server")) is not None:
        pytest.skip(problem)
    made = hosts.up(1, name=f"kept{os.getpid()}"[:12], owner=os.getpid())
    atexit.register(hosts.down, made.name)
    return made


def on_this_machine(state: Path) -> Iterator[Place]:
    if absent := [name for name in ("nginx", "redis-server", "ss") if shutil.which(name) is None]:
        pytest.skip(f"needs {', '.join(absent)}: run tests/setup")
    yield Place("local", here, str(state / "benchspec"))


def on_a_host(user: str) -> Iterator[Place]:
    (host,) = bed().hosts
    before = host.processes()
    yield Place(
        bed().site(["client"], user),
        lambda script: host.shell(script, check=False, user=user),
        f"/var/tmp/benchspec-{numbers(host, user)}",
    )
    wait_until(lambda: set(host.processes()) <= set(before), "something is left on the host")


PLACES: Mapping[str, Callable[[Path], Iterator[Place]]] = {
    "local": on_this_machine,
    "ssh": lambda state: on_a_host(hosts.Login.PLAIN),
    "ssh as root": lambda state: on_a_host(hosts.Login.ROOT),
}


@pytest.fixture(params=list(PLACES))
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    yield from PLACES[request.param](state)


def here(script: str) -> str:
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False).stdout


def numbers(host: hosts.Host, user: str) -> str:
    return host.shell(f"id -u {user}").strip()


@pytest.fixture
def ports() -> dict[str, int]:
    """A free port for each daemon."""
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in DAEMONS]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return {name: int(one.getsockname()[1]) for name, one in zip(DAEMONS, taken, strict=True)}


@pytest.fixture
def port() -> int:
    """A free port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_daemons_end_with_the_allocation_that_started_them(
    place: Place, ports: Mapping[str, int], tmp_path: Path
) -> None:
    done = run_cli(
        "run",
        str(place.spec(tmp_path / "spec.yaml", ports)),
        "--yes",
        "--quiet",
        "--out",
        "run",
        cwd=tmp_path,
    )
    assert (done.returncode, place.listening(ports)) == (0, []), (
        done.stderr,
        place.shell("ps -e -o pid,ppid,pgid,sid,args"),
    )
    cleaned = run_cli("clean", "run", cwd=tmp_path)
    assert (cleaned.returncode, cleaned.stdout) == (
        0,
        "run: nothing of this run is left on its sites\n",
    )


def test_what_a_killed_controller_left_is_found_and_removed_and_nobody_else(
    place: Place, ports: Mapping[str, int], port: int, tmp_path: Path
) -> None:
    spec = place.spec(tmp_path / "spec.yaml", ports, trial=f"echo >/tmp/begun-{port}; sleep 600")
    with start_cli(
        "run",
        str(spec),
        "--yes",
        "--quiet",
        "--out",
        "run",
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(
            lambda: bool(place.shell(f"ls /tmp/begun-{port}")) or process.poll() is not None,
            "no trial began",
        )
        process.kill()
    try:
        assert place.listening(ports) == list(ports)
        directory = place.shell(f"ls -d {place.state}/*/*/work").strip()
        script = BYSTANDERS.format(python=PYTHON)
        place.shell(f"set -- {directory} {port}; {script}")
        wait_until(
            lambda: (
                place.sleeping(port) == list(SLEEPERS)
                and place.listening({"other": port}) == ["other"]
            ),
            "no bystanders",
        )
        cleaned = run_cli("clean", "run", "--yes", cwd=tmp_path)
        assert (cleaned.returncode, place.listening(ports)) == (0, []), (
            cleaned.stdout,
            cleaned.stderr,
        )
        assert "removed processes " in cleaned.stdout
        assert (place.sleeping(port), place.listening({"other": port})) == (
            list(SLEEPERS),
            ["other"],
        )
    finally:
        data = " ".join(f"/tmp/kept-{one}-*" for one in ports.values())
        place.shell(
            f"rm -rf /tmp/begun-{port} {data}; pkill -f '[s]leep {port}|[h]ttp.server --bind 127.0.0.1 {port}|- {port}[.]1'"
        )
        wait_until(
            lambda: place.sleeping(port) == [] and place.listening({"other": port}) == [],
            "bystanders stay",
        )


def test_what_up_leaves_standing_stands_until_down(
    place: Place, ports: Mapping[str, int], tmp_path: Path
) -> None:
    some = {name: ports[name] for name in ("nginx, a daemon", "the session of the step")}
    spec = place.spec(tmp_path / "spec.yaml", some)
    up = run_cli("up", str(spec), "--yes", cwd=tmp_path)
    assert (up.returncode, place.listening(some)) == (0, list(some)), up.stderr
    ran = run_cli("run", str(spec), "--yes", "--quiet", "--out", "run", cwd=tmp_path)
    assert (ran.returncode, place.listening(some)) == (0, list(some)), ran.stderr
    assert run_cli("clean", "run", cwd=tmp_path).returncode == 0
    assert place.listening(some) == list(some)
    down = run_cli("down", str(spec), "--yes", cwd=tmp_path)
    assert (down.returncode, place.listening(some)) == (0, []), down.stderr


def test_a_process_that_gives_everything_up_ends_too_or_it_is_said_that_it_may_not(
    place: Place, port: int, tmp_path: Path
) -> None:
    spec = place.spec(tmp_path / "spec.yaml", {GIVES_ALL_UP: port})
    done = run_cli("run", str(spec), "--yes", "--quiet", "--out", "run", cwd=tmp_path)
    try:
        assert done.returncode == 0, done.stderr
        told = '"F628"' in (tmp_path / "run" / "journal.ndjson").read_text(encoding="utf-8")
        assert told == (place.shell("id -u").strip() != "0")
        assert place.listening({"it": port}) == (["it"] if told else [])
    finally:
        place.shell(f"pkill -f '[h]ttp.server --bind 127.0.0.1 {port}'")
