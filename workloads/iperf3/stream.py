"""iperf3's ``--json-stream`` (3.17 and later): a line of JSON for each event, ``{"event": NAME,
"data": ...}``. ``start`` and ``end`` have what the document of ``-J`` has under these names,
``error`` says why a test failed. Source of the format: iperf_api.c, ``JSONStream_Output``.

With ``--json-stream-full-output`` the document follows the events; it says the same once more.
"""

from __future__ import annotations

import json

from ...engine.model.errors import ParseError
from ...engine.model.spec import Json
from ...engine.model.text.json_output import as_mapping, quote

_EVENT = b'{"event":'
_KEPT = ("start", "end", "error", "server_output_json")


def is_stream(data: bytes) -> bool:
    """Whether a line of ``data`` is an event."""
    return any(_is_event(line) for line in data.splitlines())


def _is_event(line: bytes) -> bool:
    return line.replace(b" ", b"").replace(b"\t", b"").startswith(_EVENT)


def document(data: bytes) -> Json:
    """The events in the shape of the document of ``-J``.

    Raises:
        ParseError: an event is cut, the stream has no end, or there are several runs.
    """
    found: dict[str, Json] = {}
    for line in data.splitlines():
        if not _is_event(line):
            continue
        event = _read(line)
        name = event.get("event")
        if name in _KEPT and isinstance(name, str):
            if name in found and name != "error":
                raise ParseError(
                    "found several iperf3 results in one output, expected one",
                    remedy="keep the output of every run in a file of its own",
                )
            found[name] = event.get("data")
    if "error" not in found and "end" not in found:
        raise ParseError("the iperf3 stream has no end event, so the run did not finish")
    return found


def _read(line: bytes) -> dict[str, Json]:
    try:
        return dict(as_mapping(json.loads(line, parse_constant=lambda _: None)))
    except (ValueError, RecursionError) as error:
        raise ParseError(f"found an event of iperf3 that is cut: {quote(line)}") from error
