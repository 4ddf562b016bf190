"""Files that a site's options name lie beside the spec."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchspec.engine.language.load import load_spec
from benchspec.engine.language.relative_paths import anchor_files
from benchspec.engine.model.spec import Json

SPEC = """\
apiVersion: benchspec/v1
kind: Benchmark
name: beside
title: Files beside a spec
sites:
  lab:
    kind: ssh
    ssh_config: lab.conf
    known_hosts: ~/known
    hosts: {client: {host: a, identity_file: keys/one}, server: {host: b, identity_file: /keys/two}}
targets:
  lab: {sites: {client: lab, server: lab}}
  here: {runner: {kind: ssh, known_hosts: known, hosts: {any: {host: c}}}}
  local: {runner: local}
workloads:
  tcp: {tool: iperf3, with: {duration: 1 s}}
method: {sessions: 1, trials: 1}
"""


def test_relative_files_are_found_from_wherever_benchspec_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "spec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    loaded = load_spec(Path("specs/spec.yaml"))
    lab = next(iter(loaded.spec.target("lab").sites.values())).options
    folder = tmp_path / "specs"
    assert (lab["ssh_config"], lab["known_hosts"]) == (str(folder / "lab.conf"), "~/known")
    hosts = lab["hosts"]
    assert isinstance(hosts, dict)
    assert [host["identity_file"] for host in hosts.values() if isinstance(host, dict)] == [
        str(folder / "keys/one"),
        "/keys/two",
    ]
    assert next(iter(loaded.spec.target("here").sites.values())).options["known_hosts"] == str(
        folder / "known"
    )
    assert loaded.document["targets"] == anchor_files(loaded.document, tmp_path)["targets"], (
        "what a resumed run reads is the same from anywhere"
    )


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"targets": {"a": {"runner": "ssh"}}},
        {"targets": {"a": {"runner": {"kind": "unheard-of", "x": "y"}}}},
    ],
)
def test_what_names_no_files_stays_as_it_is(document: dict[str, Json]) -> None:
    assert anchor_files(document, Path("/")) == document
