"""The pure questions: what cannot run here, what would be executed, what the doctor finds; and
installing packages.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchspec.engine.model import findings
from benchspec.engine.model.contract.values import (
    Command,
    Commands,
    Endpoint,
    Leftover,
    PlacedFile,
    Server,
)
from benchspec.engine.model.errors import RunFailed, Unsupported, UsageError
from benchspec.engine.model.results import FindingLevel
from benchspec.engine.model.spec import Experiment, Placement, Role, RolePlace, Site, TrafficPath
from benchspec.runners.local import doctor, launch, packages
from benchspec.runners.local.launch import available
from benchspec.runners.registry import get_runner

HERE = Site(name="here", runner="local")
RUNNER = get_runner("local")


def experiment(
    path: TrafficPath | None = None,
    placement: Placement = Placement.ANY,
    cpus: tuple[int, ...] = (),
    site: str = "here",
) -> Experiment:
    return Experiment(
        id="ab" * 32,
        target="t",
        workload="w",
        title="W",
        point=(),
        tool="command",
        parameters={},
        path=path,
        placement=placement,
        roles=(
            RolePlace(role=Role.CLIENT, site=site, cpus=cpus),
            RolePlace(role=Role.SERVER, site="here"),
        ),
    )


@pytest.mark.parametrize("path", [None, TrafficPath.LOOPBACK, TrafficPath.HOST_TO_HOST])
def test_what_one_host_can_do(path: TrafficPath | None) -> None:
    assert list(RUNNER.unsupported(experiment(path, Placement.SAME_NODE, (0,)), HERE)) == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (experiment(TrafficPath.POD_TO_SERVICE), "pod-to-service"),
        (experiment(placement=Placement.ACROSS_NODES), "across-nodes"),
        (experiment(cpus=(4095,)), "4095"),
        (experiment(cpus=(0, 4095)), "4095"),
        (experiment(cpus=(2**40,)), "1099511627776"),
    ],
)
def test_what_one_host_cannot_do_is_a_problem_before_anything_is_created(
    asked: Experiment, words: str
) -> None:
    (problem,) = RUNNER.unsupported(asked, HERE)
    assert words in problem.message
    assert problem.remedy


def test_cpus_of_a_role_elsewhere_are_not_judged_here() -> None:
    assert list(RUNNER.unsupported(experiment(cpus=(4095,), site="elsewhere"), HERE)) == []


def test_a_cpu_that_does_not_exist_is_refused_at_the_start_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = RUNNER.connect(HERE, "r")
    allocation = session.allocate([RolePlace(role=Role.CLIENT, site="here")], "a")
    with pytest.raises(Unsupported, match="4095"):
        allocation.start(Command(argv=("true",), role=Role.CLIENT, timeout_s=1, cpus=(4095,)), "j")
    assert session.attach("j") is None
    allocation.release()


def test_pinning_leaves_the_controller_where_it_was() -> None:
    before = os.sched_getaffinity(0)
    assert available((0,))
    with launch.pinned((0,)):
        assert os.sched_getaffinity(0) == {0}
    assert os.sched_getaffinity(0) == before


COMMANDS = Commands(
    clients=(
        Command(
            argv=(
                "sh",
                "-c",
                'printf "%s|" "$@"; echo "$A $TOKEN"; grep Cpus_allowed_list /proc/self/status',
                "sh",
                "it's",
                "$HOME",
                "a\nb",
            ),
            role=Role.CLIENT,
            timeout_s=70,
            env={"A": "x y"},
            secrets={"TOKEN": "hush"},
            fetch=("out put",),
            cpus=(0,),
        ),
    ),
    servers=(
        Server(
            command=Command(argv=("serve", "-p", "20001"), role=Role.SERVER, timeout_s=9),
            endpoint=Endpoint(host="127.0.0.1", port=20001),
        ),
    ),
    files=(PlacedFile(role=Role.CLIENT, name="job.fio", data=b"[x]\n\xff"),),
)


def test_rendered_scripts_do_what_they_say(tmp_path: Path) -> None:
    site = Site(name="here", runner="local", options={"workdir": str(tmp_path)})
    files = {file.name: file.data for file in RUNNER.render(experiment(), site, COMMANDS)}
    assert list(files) == ["files/client/job.fio", "server-1-server.sh", "client-1-client.sh"]
    assert files["files/client/job.fio"] == b"[x]\n\xff"
    assert b"ready when 127.0.0.1 port 20001 listens, within 10 s" in files["server-1-server.sh"]
    assert b"hush" not in files["client-1-client.sh"]
    assert b"TOKEN" in files["client-1-client.sh"]
    (tmp_path / "benchspec-RUN" / "client").mkdir(parents=True)
    done = subprocess.run(
        ["sh", "-c", files["client-1-client.sh"].decode()],
        capture_output=True,
        env={**os.environ, "TOKEN": "told"},
        check=True,
    )
    assert done.stdout.split() == b"it's|$HOME|a b|x y told Cpus_allowed_list: 0".split()
    assert RUNNER.render(experiment(), site, COMMANDS) == RUNNER.render(
        experiment(), site, COMMANDS
    )


def test_placeholders_are_the_same_every_time() -> None:
    made = RUNNER.placeholders(experiment(), HERE)
    assert made == RUNNER.placeholders(experiment(), HERE)
    assert made.workdirs[Role.CLIENT] == "/var/tmp/benchspec-RUN/client"
    assert made.endpoints[Role.SERVER] == Endpoint(host="127.0.0.1", port=20001)


def test_the_doctor_speaks_in_documented_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = RUNNER.check(HERE)
    assert {finding.code for finding in found} <= set(findings.CODES)
    assert {"F612", "F613"} <= {finding.code for finding in found}
    assert not [finding for finding in found if finding.level is FindingLevel.ERROR]
    assert list(tmp_path.iterdir()) == [], "the doctor creates nothing"


def test_the_doctor_sees_what_would_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LITTLE_SPACE_B", 2**80)
    monkeypatch.setattr(launch, "SHELL", "/nowhere/sh")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.setattr(os, "access", lambda *_: False)
    bad = {
        (finding.code, finding.level)
        for finding in doctor.check(
            Site(name="here", runner="local", options={"workdir": str(tmp_path / "x")})
        )
    }
    assert {
        ("F610", FindingLevel.ERROR),
        ("F611", FindingLevel.ERROR),
        ("F613", FindingLevel.WARNING),
        ("F614", FindingLevel.NOTE),
    } <= bad
    monkeypatch.setattr(os, "access", lambda *_: True)
    assert ("F612", FindingLevel.WARNING) in {
        (finding.code, finding.level) for finding in doctor.check(HERE)
    }
    relative = doctor.check(Site(name="here", runner="local", options={"workdir": "x"}))
    assert "F611" in {finding.code for finding in relative}


@pytest.mark.parametrize("kind", ["directory", "processes", "bucket"])
def test_nothing_foreign_is_removed(kind: str, tmp_path: Path) -> None:
    foreign = tmp_path / "benchspec-foreign"
    foreign.mkdir()
    for name in (str(foreign), "/", "/etc", "../.."):
        with pytest.raises(UsageError):
            RUNNER.remove(HERE, Leftover(kind=kind, name=name))
    assert foreign.exists()


def test_a_link_in_place_of_a_run_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "benchspec" / "run").mkdir(parents=True)
    (tmp_path / "precious").mkdir()
    link = tmp_path / "benchspec" / "run" / "here"
    link.symlink_to(tmp_path / "precious")
    assert list(RUNNER.leftovers(HERE, "run")) == []
    with pytest.raises(UsageError, match="symbolic link"):
        RUNNER.remove(HERE, Leftover(kind="directory", name=str(link)))
    assert (tmp_path / "precious").exists()


def manager(directory: Path, name: str, script: str) -> None:
    """A stand-in for a package manager, so that the host keeps its packages: it notes what it was
    told.
    """
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f'#!/bin/sh\necho "$0 $*" >>{directory}/log\n{script}\n')
    (directory / name).chmod(0o755)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("apt-get", "install -y --no-install-recommends fio"),
        ("dnf", "install -y fio"),
        ("apk", "add fio"),
    ],
)
def test_installing_uses_what_the_host_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    manager(tmp_path / "bin", name, "exit 0")
    packages.install(["fio"])
    assert (tmp_path / "bin" / "log").read_text() == f"{tmp_path}/bin/{name} {told}\n"


def test_installing_renews_the_lists_and_tries_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    manager(
        tmp_path / "bin",
        "apt-get",
        f"case $1 in update) : >{tmp_path}/fresh;; *) [ -e {tmp_path}/fresh ] || exit 100;; esac",
    )
    packages.install(["fio"])
    assert [line.split()[1] for line in (tmp_path / "bin" / "log").read_text().splitlines()] == [
        "install",
        "update",
        "install",
    ]


def test_installing_that_fails_says_what_the_manager_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    manager(tmp_path / "bin", "apt-get", "echo E: Unable to locate package nothing >&2; exit 100")
    with pytest.raises(RunFailed, match="Unable to locate package nothing"):
        packages.install(["nothing"])


def test_installing_without_rights_or_manager_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    with pytest.raises(RunFailed, match="by hand: fio"):
        packages.install(["fio"])
    manager(tmp_path / "bin", "dnf", "exit 0")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RunFailed, match="sudo dnf install -y fio"):
        packages.install(["fio"])
    packages.install([])
    with pytest.raises(RunFailed, match="--purge"):
        packages.install(["--purge"])
    assert not (tmp_path / "bin" / "log").exists()


def test_a_manager_that_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager(tmp_path / "bin", "apt-get", "exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(packages, "_TIMEOUT_S", 0.2)
    with pytest.raises(RunFailed, match="did not end"):
        packages.install(["fio"])
