"""Which targets are their baseline under another name, asked of specs as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchspec.engine.language.load import check_spec, load_spec
from benchspec.engine.planning.same_settings import same_settings

HEAD = "apiVersion: benchspec/v1\nkind: Benchmark\nname: noise\ntitle: Noise\n"
METHOD = "method: {sessions: 10, trials: 1}\ncompare: {baseline: a}\n"
WITH = "with: {duration: 1 s, streams: 2}"


def write(folder: Path, targets: str, more: str = "") -> Path:
    path = folder / "noise.yaml"
    work = f"workloads:\n  w:\n    tool: iperf3\n    path: loopback\n    {WITH}\n{more}"
    path.write_text(f"{HEAD}targets:\n{targets}{work}{METHOD}", "utf-8")
    return path


A = "  a: {runner: local}\n"


@pytest.mark.parametrize(
    ("targets", "more"),
    [
        (A + "  b: {title: Another, runner: {kind: local}, description: x}\n", ""),
        (
            A + "  b: {runner: local,"
            " price: {per_hour: 1, currency: USD, source: s, as_of: 2023-03-20}}\n",
            "",
        ),
        (A + "  b: {runner: local}\n", "    overrides: {b: {with: {duration: 1000 ms}}}\n"),
        (
            "  a: {runner: local, storage: {size: 1 GiB}}\n"
            "  b: {runner: local, storage: {size: 1024 MiB}}\n",
            "",
        ),
    ],
)
def test_another_name_or_spelling_is_the_same(tmp_path: Path, targets: str, more: str) -> None:
    path = write(tmp_path, targets, more)
    assert same_settings(load_spec(path).spec) == {"b": "a"}
    assert [d.code for d in check_spec(path)] == ["BS294"]


@pytest.mark.parametrize(
    ("targets", "more"),
    [
        (A + "  b: {runner: local, cpus: [0]}\n", ""),
        (A + "  b: {runner: local, facts: {os.name: x}}\n", ""),
        (A + "  b: {runner: local}\n", "    overrides: {b: {with: {streams: 3}}}\n"),
        (A + "  b: {runner: local}\n", "    overrides: {b: {gates: {min_duration: 2 s}}}\n"),
        (
            A + "  b: {runner: local}\n  c: {runner: local, cpus: [0]}\n",
            "  only:\n    tool: iperf3\n    path: loopback\n    targets: [b, c]\n",
        ),
        (
            A + "  b: {runner: local, lifecycle: {ready: [{name: r, run: [id]}]}}\n",
            "",
        ),
        (
            "  a: {runner: {kind: ssh, hosts: {client: {host: h1}, server: {host: h2}}}}\n"
            "  b: {runner: {kind: ssh, hosts: {client: {host: h1}, server: {host: h3}}}}\n",
            "",
        ),
    ],
)
def test_a_place_a_claim_a_step_or_a_parameter_makes_another_target(
    tmp_path: Path, targets: str, more: str
) -> None:
    path = write(tmp_path, targets, more)
    assert same_settings(load_spec(path).spec) == {}
    assert "BS294" not in {d.code for d in check_spec(path)}


def test_nothing_is_said_where_nothing_is_compared(tmp_path: Path) -> None:
    path = write(tmp_path, A + "  b: {runner: local}\n")
    path.write_text(path.read_text("utf-8").replace("compare: {baseline: a}\n", ""), "utf-8")
    assert same_settings(load_spec(path).spec) == {}
    assert check_spec(path) == ()
