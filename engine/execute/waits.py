"""The waits of lifecycle steps: a port that accepts, a URL that answers with 2xx, a time that passes. Done by the controller itself."""

from __future__ import annotations

import http.client
import socket
import time
import urllib.request
from collections.abc import Mapping

from ..errors import RunFailed, UnitError
from ..spec import Json
from ..units import Dimension, parse_quantity

MOST_BODY = 2**20
"""How much of an HTTP answer is kept: B."""

_PAUSES_S = (0.02, 0.5)
_ONE_TRY_S = 5.0


def wait_for(arguments: Mapping[str, Json], timeout_s: float) -> bytes:
    """Block until what ``arguments`` name (tcp, http or seconds) is so; return the body of the HTTP answer, else nothing.

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
                raise RunFailed(f"{what} {place} did not answer within {timeout_s:g} s: {error}") from error
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _PAUSES_S[1])


def _pass_time(text: str, timeout_s: float) -> bytes:
    try:
        seconds = parse_quantity(text, Dimension.TIME)
    except UnitError as error:
        raise RunFailed(f"found {text!r}, expected a time such as 5 s") from error
    if seconds > timeout_s:
        raise RunFailed(f"the time to wait, {seconds:g} s, is longer than the step's timeout of {timeout_s:g} s")
    time.sleep(seconds)
    return b""


def _connect(place: str, timeout_s: float) -> bytes:
    host, _, port = place.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise RunFailed(f"found {place!r}, expected host:port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s).close()
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
