"""known_hosts as OpenSSH reads it; ssh-keygen is the judge."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchspec.runners.ssh.transport import known_hosts
from benchspec.runners.ssh.transport.known_hosts import Entry, lookup_name

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIJ1ZqVbYAm+PM2hfBOXR5qtV8yWbN2XqVbHzkYqMC3Xe"
LINE = f"ssh-ed25519 {KEY}"


def entries(tmp_path: Path, text: str) -> tuple[Entry, ...]:
    path = tmp_path / "known_hosts"
    path.write_text(text)
    return known_hosts.read([tmp_path / "not there", path])


def about(tmp_path: Path, text: str, host: str, port: int = 22) -> list[Entry]:
    return [entry for entry in entries(tmp_path, text) if entry.is_about(lookup_name(host, port))]


@pytest.mark.parametrize(
    ("names", "host", "port", "found"),
    [
        ("bench-1", "bench-1", 22, True),
        ("bench-1", "Bench-1", 22, True),
        ("BENCH-1", "bench-1", 22, True),
        ("bench-1", "bench-2", 22, False),
        ("bench-1", "bench-1", 2222, False),
        ("[bench-1]:2222", "bench-1", 2222, True),
        ("[bench-1]:2222", "bench-1", 22, False),
        ("other,10.0.0.4", "10.0.0.4", 22, True),
        ("fd00::4", "fd00::4", 22, True),
        ("[fd00::4]:2222", "fd00::4", 2222, True),
        ("*.example.org", "a.example.org", 22, True),
        ("*.example.org,!b.example.org", "b.example.org", 22, False),
        ("!b.example.org,*.example.org", "b.example.org", 22, False),
        ("10.0.0.?", "10.0.0.4", 22, True),
        ("10.0.0.?", "10.0.0.44", 22, False),
        ("10x0", "10.0", 22, False),
        ("a.b", "axb", 22, False),
    ],
)
def test_names(tmp_path: Path, names: str, host: str, port: int, found: bool) -> None:
    assert bool(about(tmp_path, f"{names} {LINE}\n", host, port)) is found


@pytest.mark.parametrize(
    ("host", "port"), [("bench-1.example.org", 22), ("10.0.0.4", 2222), ("fd00::4", 22)]
)
def test_names_that_ssh_keygen_hashed(tmp_path: Path, host: str, port: int) -> None:
    path = tmp_path / "known_hosts"
    path.write_text(f"{lookup_name(host, port)} {LINE}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", path], check=True, capture_output=True)
    assert path.read_text().startswith("|1|")
    found = known_hosts.read([path])
    assert [entry.is_about(lookup_name(host, port)) for entry in found] == [True]
    assert not found[0].is_about(lookup_name(host, port + 1))
    assert not found[0].is_about("elsewhere")


def test_fingerprints_are_those_of_ssh_keygen(tmp_path: Path) -> None:
    (entry,) = entries(tmp_path, f"host {LINE}\n")
    said = subprocess.run(
        ["ssh-keygen", "-lf", tmp_path / "known_hosts"], check=True, capture_output=True, text=True
    ).stdout
    assert entry.key.fingerprint == said.split()[1]
    assert entry.source == f"{tmp_path / 'known_hosts'}:1"


def test_revoked_keys_are_read_as_such_and_authorities_passed_over(tmp_path: Path) -> None:
    text = f"@revoked * {LINE}\n@cert-authority *.example.org {LINE}\nhost {LINE} a comment\n"
    assert [(entry.revoked, entry.names) for entry in entries(tmp_path, text)] == [
        (True, "*"),
        (False, "host"),
    ]


def test_lines_that_are_none_are_passed_over(tmp_path: Path) -> None:
    text = (
        "\n# comment\nhost\nhost ssh-ed25519\nhost ssh-ed25519 not-base64!\n|1|bad"
        f" {LINE}\n|2|YQ==|YQ== {LINE}\n|1|!|! {LINE}\nhost {LINE}"
    )
    assert [
        entry.source.rsplit(":")[-1] for entry in entries(tmp_path, text) if entry.is_about("host")
    ] == ["9"]


def test_bytes_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    path.write_bytes(b"\xff\xfe ssh-ed25519 AAAA\nhost " + LINE.encode())
    assert [entry.is_about("host") for entry in known_hosts.read([path])][-1]


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        known_hosts.read([tmp_path])
