"""What tools printed, made alike before any parser reads it: UTF-8 without a byte order mark, and
lines that end in a line feed.

A terminal (``kubectl exec -it``, ``script``) writes carriage returns before line feeds, PowerShell
redirects as UTF-16, and editors put a mark at the beginning: none of it belongs to a tool.
"""

from __future__ import annotations

import codecs
import re

_RETURNS = re.compile(rb"\r+(?:\n|\Z)")
_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def normalised(data: bytes) -> bytes:
    """``data`` as UTF-8 with plain line ends; what is packed (gzip) stays as it is.

    UTF-16 is also known without a mark: every tool here begins with a character of ASCII.
    """
    if data.startswith(_GZIP):
        return data
    return _RETURNS.sub(_line_end, _as_utf8(data))


def _line_end(found: re.Match[bytes]) -> bytes:
    return b"\n" if found[0].endswith(b"\n") else b""


def _as_utf8(data: bytes) -> bytes:
    if data.startswith(_UTF16):
        return _recoded(data, "utf-16")
    if data.startswith(codecs.BOM_UTF8):
        return data.removeprefix(codecs.BOM_UTF8)
    first, second = data[:1], data[1:2]
    if second == b"\0" and first not in (b"", b"\0"):
        return _recoded(data, "utf-16-le")
    if first == b"\0" and second not in (b"", b"\0"):
        return _recoded(data, "utf-16-be")
    return data


def _recoded(data: bytes, encoding: str) -> bytes:
    return data.decode(encoding, "replace").encode("utf-8", "replace")
