"""Scripts reach every shell there is here unchanged, and what rc files print stays outside."""

from __future__ import annotations

import itertools
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchspec.engine.model.errors import RunFailed
from benchspec.runners.ssh.transport.framing import COMMAND, ENOUGH_NOISE, Sifter, frame, legible

LOGIN_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "csh", "tcsh", "busybox")
SHOW = 'for word; do printf "%s|" "$word"; done; cat; echo done >&2; exit 7'
EVERY_BYTE = bytes(range(1, 256)).decode(errors="surrogateescape")


def through(
    shell: list[str], script: str, arguments: tuple[str, ...] = (), data: bytes = b""
) -> tuple[bytes, bytes, int]:
    """Run a frame the way sshd does: the command is the login shell's -c."""
    framed = frame(script, arguments)
    done = subprocess.run(
        [*shell, "-c", COMMAND],
        input=framed.head + data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    out, err = Sifter(framed.marker), Sifter(framed.marker)
    return out.sift(done.stdout), err.sift(done.stderr), done.returncode


@pytest.mark.parametrize("name", LOGIN_SHELLS)
def test_a_script_its_arguments_and_its_data_arrive_through_a_login_shell(name: str) -> None:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed: run tests/setup")
    shell = [path, "sh"] if name == "busybox" else [path]
    words = (EVERY_BYTE, "", "it's", "a\nb\\c", "$(echo no) `echo no` !! ~ *", "-n", "é", " x ")
    data = bytes(range(256)) * 300
    expected = b"".join(word.encode(errors="surrogateescape") + b"|" for word in words) + data
    assert through(shell, SHOW, words, data) == (expected, b"done\n", 7)


def test_a_script_of_many_lines_keeps_them_and_data_may_look_like_its_end() -> None:
    script = "if true; then\n  cat <<'X'\nhere\n\n  document\nX\nfi\ncat"
    assert (
        through(["/bin/sh"], script, data=b"benchspec-end\n\n")[0]
        == b"here\n\n  document\nbenchspec-end\n\n"
    )


@given(
    words=st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), max_size=4),
    data=st.binary(max_size=200),
)
def test_any_arguments_and_data_arrive(words: list[str], data: bytes) -> None:
    expected = b"".join(word.encode() + b"|" for word in words) + data
    assert through(["/bin/sh"], SHOW, tuple(words), data)[0] == expected


def test_a_nul_byte_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(RunFailed, match="NUL byte"):
        frame("true", ("a\0b",))


def test_what_an_rc_file_prints_is_cut_off_on_both_streams() -> None:
    framed = frame("echo out; echo err >&2")
    script = f"printf 'Welcome\\nto this host'; echo careful >&2; {COMMAND}"
    done = subprocess.run(
        ["/bin/sh", "-c", script], input=framed.head, capture_output=True, timeout=30, check=True
    )
    out, err = Sifter(framed.marker), Sifter(framed.marker)
    assert (out.sift(done.stdout), out.noise) == (b"out\n", b"Welcome\nto this host")
    assert (err.sift(done.stderr), err.noise) == (b"err\n", b"careful\n")


@given(
    noise=st.binary(max_size=300),
    output=st.binary(max_size=300),
    cuts=st.lists(st.integers(0, 700), max_size=8),
)
def test_the_marker_is_found_however_the_stream_is_cut(
    noise: bytes, output: bytes, cuts: list[int]
) -> None:
    sifter, stream = Sifter(b"benchspec-0123\n"), noise + b"benchspec-0123\n" + output
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    found = b"".join(sifter.sift(stream[start:end]) for start, end in itertools.pairwise(places))
    assert (found, sifter.noise, sifter.found) == (output, noise, True)


def test_endless_noise_takes_bounded_memory_and_hides_no_marker() -> None:
    sifter = Sifter(b"the-marker\n")
    for _ in range(2000):
        assert sifter.sift(b"x" * 1000) == b""
        assert len(sifter._held) <= 3 * ENOUGH_NOISE
    assert sifter.sift(b"the-marker\nhello") == b"hello"
    assert len(sifter.noise) == ENOUGH_NOISE


def test_noise_without_a_marker_is_told_in_one_line() -> None:
    sifter = Sifter(b"marker\n")
    sifter.sift(b"This account\n is\x1b[31m not available.\xff\n")
    sifter.end()
    assert legible(sifter.noise) == "This account is?[31m not available.\ufffd"
    assert legible(b"x" * 500) == "x" * 200 + "..."
