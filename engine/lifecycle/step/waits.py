"""The waits of lifecycle steps: a port that accepts, a URL that answers with 2xx, a time that
passes.

What is awaited from this machine is asked by this program; what is awaited from a host, by the
host: its port by the runner's own probe, its URL by a job in which curl or wget asks until there is
an answer.
"""

from __future__ import annotations

import http.client
import socket
import time
import urllib.request
from collections.abc import Mapping

from ...model.contract.runner import Allocation
from ...model.contract.values import Command, Endpoint
from ...model.errors import RunFailed, TransportLost, UnitError
from ...model.spec import Json, Role
from ...model.units import Dimension, parse_quantity
from .places import HERE, StepPlace

MOST_BODY = 2**20
"""How much of an HTTP answer is kept: B."""

_PAUSES_S = (0.02, 0.5)
_ONE_TRY_S = 5.0
_URL = "BENCHSPEC_URL"

# The URL may hold a secret: it comes in the environment and goes to the program's standard input
# (printf is the shell's own).
_ASK = """if command -v curl >/dev/null 2>&1; then
  ask() { printf 'url = "%s"\\n' "$BENCHSPEC_URL" | curl -fsS --noproxy '*' --max-time 5 -K -; }
elif command -v wget >/dev/null 2>&1; then
  ask() { printf '%s\\n' "$BENCHSPEC_URL" | wget -q --no-proxy -T 5 -t 1 -O - -i -; }
else
  echo 'found neither curl nor wget to ask a URL with' >&2
  exit 127
fi
until ask; do sleep 0.2; done
"""


def wait_for(arguments: Mapping[str, Json], timeout_s: float) -> bytes:
    """Block until what ``arguments`` name (tcp, http or seconds) is so; return the body of the HTTP
    answer, else nothing.

    Raises:
        RunFailed: it is not so within ``timeout_s``, or cannot be asked at all.
    """
    if "seconds" in arguments:
        return _pass_time(str(arguments["seconds"]), timeout_s)
    what, ask = ("tcp", _connect) if "tcp" in arguments else ("http", _fetch)
    place = str(arguments.get(what, ""))
    deadline, pause_s = time.monotonic() + timeout_s, _PAUSES_S[0]
    while True:
        rest_s = deadline - time.monotonic()
        try:
            return ask(place, max(0.05, min(_ONE_TRY_S, rest_s)))
        except (OSError, http.client.HTTPException) as error:
            if time.monotonic() + pause_s >= deadline:
                raise RunFailed(
                    f"{what} {place} did not answer within {timeout_s:g} s: {error}"
                ) from error
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _PAUSES_S[1])


def _pass_time(text: str, timeout_s: float) -> bytes:
    try:
        seconds = parse_quantity(text, Dimension.TIME)
    except UnitError as error:
        raise RunFailed(f"found {text!r}, expected a time such as 5 s") from error
    if seconds > timeout_s:
        raise RunFailed(
            f"the time to wait, {seconds:g} s, is longer than the step's timeout of {timeout_s:g} s"
        )
    time.sleep(seconds)
    return b""


def ask_on_host(
    arguments: Mapping[str, Json], place: StepPlace, timeout_s: float
) -> Command | None:
    """The job that waits on a host for the URL of ``arguments``; None where no job is needed.
    Raises RunFailed.
    """
    if "http" not in arguments or place.host == HERE:
        return None
    url = str(arguments["http"])
    if not url.startswith(("http://", "https://")) or any(
        character in url for character in '"\\\n\r'
    ):
        raise RunFailed(f"found {url!r}, expected a URL such as http://host:port/path")
    return Command(
        argv=("sh", "-c", _ASK), role=place.role, timeout_s=timeout_s, secrets={_URL: url}
    )


def reach_from_host(allocation: Allocation, role: Role, place: str, timeout_s: float) -> bytes:
    """Block until the host of ``role`` can connect to ``place`` (host:port).

    Raises:
        RunFailed: it cannot within ``timeout_s``.
        TransportLost: the host cannot be asked.
    """
    host, port = _host_and_port(place)
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            allocation.reach(
                role,
                Endpoint(host=host, port=port),
                max(0.05, min(_ONE_TRY_S, deadline - time.monotonic())),
            )
            return b""
        except TransportLost:
            raise
        except RunFailed as error:
            if time.monotonic() + _PAUSES_S[1] >= deadline:
                raise RunFailed(
                    f"tcp {place} did not answer within {timeout_s:g} s: {error.message}"
                ) from error
        time.sleep(_PAUSES_S[1])


def _host_and_port(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise RunFailed(f"found {place!r}, expected host:port")
    return host.strip("[]"), int(port)


def _connect(place: str, timeout_s: float) -> bytes:
    try:
        socket.create_connection(_host_and_port(place), timeout=timeout_s).close()
    except UnicodeError as error:
        raise RunFailed(f"found {place!r}, whose host is no name") from error
    return b""


def _fetch(url: str, timeout_s: float) -> bytes:
    if not url.startswith(("http://", "https://")):
        raise RunFailed(f"found {url!r}, expected a URL such as http://host:port/path")
    # without proxies: what is awaited is the system under test
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s) as answer:
            body: bytes = answer.read(MOST_BODY)
    except (ValueError, http.client.InvalidURL) as error:
        raise RunFailed(f"found {url!r}, which is no URL: {error}") from error
    return body
