"""One short program in a container: the exec subresource over a websocket, read frame by frame.

The client's own stream class takes a stream that breaks for a success, keeps silent ones for ever
and copies what was received over and over; here success is only what the server says on the status
channel, and every wait has a deadline. Format: one byte of channel number before the payload
(https://kubernetes.io/docs/reference/using-api/api-concepts/#pod-exec), 0 stdin, 1 stdout, 2
stderr, 3 status as a ``Status`` object.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence

from kubernetes.stream import ws_client
from websocket import (
    ABNF,
    WebSocketBadStatusException,
    WebSocketException,
    WebSocketTimeoutException,
)

from ...agent.door import Answer
from ..failures import Refused, Unreachable, refusal
from .api import Api

_STDIN, _STDOUT, _STDERR, _STATUS = range(4)
_CHUNK = 1 << 17
_TRIES = 6


class Broken(Exception):
    """The stream ended before the server said how the program ended."""


def execute(
    api: Api,
    pod: str,
    container: str,
    argv: Sequence[str],
    *,
    given: bytes = b"",
    timeout_s: float = 30.0,
    tries: int = _TRIES,
) -> Answer:
    """Run ``argv`` to its end and hand ``given`` to its standard input, which stays open. It must
    be harmless to run twice: a stream that breaks is tried anew, and so is a program that cannot be
    started, since the cluster does not say which of the two it was.

    Raises:
        Refused: no such pod or container, or no right to.
        Unreachable: it did not end within ``timeout_s``, tries and all.
    """
    deadline, pause_s, problem = time.monotonic() + timeout_s, 0.2, ""
    for attempt in range(tries):
        try:
            return _once(api, pod, container, argv, given, deadline)
        except Refused as error:
            if error.status not in (500, 502, 503, 504):
                raise
            problem = error.message
        except (Broken, WebSocketException, OSError) as error:
            problem = str(error) or type(error).__name__
        if time.monotonic() + pause_s > deadline or attempt == tries - 1:
            break
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 5.0)
    raise Unreachable(
        f"pod {pod} does not answer: {problem}",
        where=api.where,
        remedy="see whether its node is Ready (`kubectl get nodes`) and its kubelet runs",
    )


def _once(
    api: Api, pod: str, container: str, argv: Sequence[str], given: bytes, deadline: float
) -> Answer:
    query: list[tuple[str, object]] = [
        ("container", container),
        ("stdout", "true"),
        ("stderr", "true"),
        ("stdin", "true" if given else "false"),
    ]
    url = ws_client.get_websocket_url(  # type: ignore[no-untyped-call]
        f"{api.configuration.host.rstrip('/')}{api.namespaced('pods', pod)}/exec",
        [*query, ("command", list(argv))],
    )
    try:
        socket = ws_client.create_websocket(  # type: ignore[no-untyped-call]
            api.configuration, url, {**api.headers(), "sec-websocket-protocol": "v4.channel.k8s.io"}
        )
    except WebSocketBadStatusException as error:
        body = getattr(error, "resp_body", None) or b""
        raise refusal(
            error.status_code,
            body if isinstance(body, bytes) else str(body).encode(),
            "create pods/exec",
            api.where,
        ) from error
    try:
        for start in range(0, len(given), _CHUNK):
            socket.settimeout(max(0.1, deadline - time.monotonic()))
            socket.send(bytes([_STDIN]) + given[start : start + _CHUNK], opcode=ABNF.OPCODE_BINARY)
        return _read(socket, deadline)
    finally:
        socket.settimeout(1.0)
        with contextlib.suppress(WebSocketException, OSError):  # it is gone already
            socket.close()


def _read(socket: object, deadline: float) -> Answer:
    streams: dict[int, list[bytes]] = {_STDOUT: [], _STDERR: [], _STATUS: []}
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise WebSocketTimeoutException("it took too long")
        socket.settimeout(left)  # type: ignore[attr-defined]
        opcode, frame = socket.recv_data_frame(True)  # type: ignore[attr-defined]
        if opcode in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT) and frame.data:
            data = frame.data
            streams.setdefault(data[0], []).append(data[1:])
            if data[0] == _STATUS:
                break
        elif opcode == ABNF.OPCODE_CLOSE:
            raise Broken("the stream was closed without a status")
    return Answer(
        exit_code=_exit_code(b"".join(streams[_STATUS])),
        stdout=b"".join(streams[_STDOUT]),
        stderr=b"".join(streams[_STDERR]),
    )


def _exit_code(status: bytes) -> int:
    """0, or the cause ``ExitCode`` of a failure. Raises Broken for a failure of the machinery."""
    found = json.loads(status)
    if found.get("status") == "Success":
        return 0
    causes = (found.get("details") or {}).get("causes") or []
    for cause in causes:
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise Broken(str(found.get("message") or found))
