"""How a script reaches a POSIX shell through whatever login shell a host has, and how its output is
told apart from what rc files print.

sshd hands a command to the user's login shell, which may be sh, bash, zsh, fish or csh, and may
print things of its own first. The command is
therefore a constant that all of them read alike (one line, single quotes, no backslash, no
exclamation mark)::

    exec /bin/sh -c 'IFS= read -r _b;eval "$_b"'

Everything else goes through standard input: one line that prints a random marker on both streams
and reads the script up to a second marker, then the script, then the data. ``read`` takes one byte
at a time from a pipe, as POSIX asks of it, so that the data are left for the script; ``sh`` itself,
``head`` of some systems, and here-documents read ahead and would swallow them.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from ....engine.model.errors import RunFailed

COMMAND = "exec /bin/sh -c 'IFS= read -r _b;eval \"$_b\"'"
"""What the login shell is given."""

PROGRAM = "/bin/sh -c 'IFS= read -r _b;eval \"$_b\"'"
"""The same, to be started by sudo or another program that becomes somebody."""

ENOUGH_NOISE = 64 * 1024
"""So many bytes before the marker are kept to be shown; the rest is dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One script on its way: the marker that precedes its output on both streams, and the bytes for
    standard input.
    """

    marker: bytes
    head: bytes


def frame(script: str, arguments: Sequence[str] = ()) -> Frame:
    """Wrap ``script``, to be run with ``arguments`` as $1, $2 and so on; data for its standard
    input may follow ``head``.

    Raises:
        RunFailed: a NUL byte, which no shell can take, is in the script or an argument.
    """
    marker = f"benchspec-{secrets.token_hex(12)}"
    words = " ".join(map(shlex.quote, arguments))
    text = f"set -- {words}\n{script}"
    if "\0" in text:
        raise RunFailed(
            "found a NUL byte in an argument of a remote program, which no shell can pass on",
            remedy="remove it from the spec",
        )
    start = (
        f"printf '%s\\n' {marker};printf '%s\\n' {marker} >&2;_n=$(printf"
        " '\\012.');_n=${_n%.};_s=;"
        f'while IFS= read -r _l&&[ "$_l" != {marker}-end ];do _s=$_s$_l$_n;done;eval "$_s"'
    )
    return Frame(
        marker=marker.encode() + b"\n",
        head=f"{start}\n{text}\n{marker}-end\n".encode(errors="surrogateescape"),
    )


@dataclass(slots=True)
class Sifter:
    """Cuts one stream at the marker: bytes before it are noise, bytes after it are output."""

    marker: bytes
    noise: bytes = b""
    found: bool = False
    _held: bytearray = field(default_factory=bytearray)

    def sift(self, data: bytes) -> bytes:
        """The output in ``data``, which continues what was given before."""
        if self.found:
            return data
        self._held += data
        at = self._held.find(self.marker)
        if at >= 0:
            self.found = True
            self.noise = (self.noise + bytes(self._held[:at]))[:ENOUGH_NOISE]
            output = bytes(self._held[at + len(self.marker) :])
            self._held.clear()
            return output
        if len(self._held) > 2 * ENOUGH_NOISE:
            keep = len(self.marker)
            self.noise = (self.noise + bytes(self._held[:-keep]))[:ENOUGH_NOISE]
            del self._held[:-keep]
        return b""

    def end(self) -> None:
        """The stream ended: what was held back is noise if no marker came."""
        self.noise = (self.noise + bytes(self._held))[:ENOUGH_NOISE]
        self._held.clear()


def legible(noise: bytes, limit: int = 200) -> str:
    """The beginning of ``noise`` in one line of printable characters, for a message."""
    text = " ".join(noise.decode(errors="replace").split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text[:limit] + ("..." if len(text) > limit else "")
