"""Ten minutes of silence, in their true length. Not part of the suite: ``python -m pytest
tests/runners/ssh/ten_minutes.py``.
"""

from __future__ import annotations

from tests.runners.ssh.conftest import Connect


def test_ten_minutes_of_silence(connect: Connect) -> None:
    connection = connect()
    stream = connection.stream("sleep 610; echo 1")
    assert connection.run("sleep 600; echo 2", timeout_s=700).stdout == b"2\n"
    assert stream.read(60) == b"1\n"
    stream.close()
