"""Getting another user's rights for one script: sudo, doas or su. A password goes through standard
input, when it is asked for and once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from ....engine.model.errors import MissingTool, RunFailed
from ..failures import BecomePasswordNeeded, BecomePasswordWrong, BecomeRefused
from ..options import Become, BecomeMethod
from .channel import Exchange
from .framing import ENOUGH_NOISE, PROGRAM, legible

_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NEEDED = re.compile(
    r"password is required|terminal is required|must have a tty|Authentication required|must be run"
    r" from a terminal",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"incorrect password|Authentication failure|Sorry, try again|Authentication failed",
    re.IGNORECASE,
)
_NAME_ONE = "name one as `become: {password: ${secret:env:NAME}}`, or allow it without password"
_SCRIPT = 'IFS= read -r _b;case $_b in printf*) ;; *) IFS= read -r _b;; esac;eval "$_b"'
"""Reads a frame. A line before it is a password that nobody asked for (su asks root for none): it
is passed over, never executed.
"""
_MISSING = re.compile(r"not found|unknown command", re.IGNORECASE)


class Elevation:
    """How scripts of one host become another user. ``password`` is resolved when it is first
    needed, and kept nowhere.
    """

    def __init__(self, host: str, become: Become, password: Callable[[], str] | None) -> None:
        if not _USER.fullmatch(become.user):
            raise BecomeRefused(
                f"found become.user {become.user!r}, expected a user's name of letters, digits,"
                " '.', '_' and '-'",
                host=host,
                remedy="correct the spec",
            )
        if become.method is BecomeMethod.DOAS and password is not None:
            raise BecomeRefused(
                "doas reads passwords from a terminal only, and benchspec gives none",
                host=host,
                remedy="allow it with `permit nopass`, or use sudo",
            )
        if become.method is BecomeMethod.SU and password is None:
            raise BecomePasswordNeeded(
                "su always asks for a password, and the spec refers to none",
                host=host,
                remedy=_NAME_ONE,
            )
        self._host = host
        self._become = become
        self._password = password
        token = secrets.token_hex(8)
        self._prompt, self._ready = f"benchspec-password-{token}:", f"benchspec-ready-{token}"

    @property
    def talks(self) -> bool:
        """Whether :meth:`enter` must be called before the script is sent."""
        return self._password is not None

    def command(self) -> str:
        """What the login shell is given: one line that all shells read alike."""
        user = self._become.user
        program = f"/bin/sh -c 'echo {self._ready};{_SCRIPT}'" if self.talks else PROGRAM
        match self._become.method:
            case BecomeMethod.SUDO:
                how = f"-S -p {self._prompt}" if self.talks else "-n"
                return f"exec sudo {how} -H -u {user} -- {program}"
            case BecomeMethod.DOAS:
                return f"exec doas -n -u {user} {program}"
            case BecomeMethod.SU:
                return f"exec su -s {program} {user}"

    def enter(self, exchange: Exchange, deadline: float) -> bytes:
        """Answer the program's question for the password, if it asks, and wait until the shell is
        there; return what the host printed unasked.

        Raises:
            BecomePasswordWrong, BecomePasswordNeeded, BecomeRefused: it did not come to that.
        """
        password = self._password
        if password is None:
            return b""
        out, err, asked = b"", b"", False
        if self._become.method is BecomeMethod.SU:  # whose prompt is in the host's language
            exchange.send(password().encode() + b"\n", last=False)
            asked = True
        while self._ready.encode() not in out:
            received = exchange.receive(deadline)
            if received is None:
                raise self.refusal(err, asked=asked)
            out, err = (out + received[0])[-ENOUGH_NOISE:], (err + received[1])[-ENOUGH_NOISE:]
            prompts = err.count(self._prompt.encode())
            if prompts > 1:
                raise self._wrong()
            if prompts and not asked:
                exchange.send(password().encode() + b"\n", last=False)
                asked = True
        return out.partition(self._ready.encode())[0]

    def refusal(self, stderr: bytes, *, asked: bool = False) -> RunFailed:
        """The error that the program's last words stand for."""
        method, user = self._become.method, self._become.user
        said = legible(stderr.replace(self._prompt.encode(), b""))
        if _WRONG.search(said):
            return self._wrong()
        if _NEEDED.search(said):
            return BecomePasswordNeeded(
                f"{method} asks for a password, and the spec refers to none ({said})",
                host=self._host,
                remedy=_NAME_ONE,
            )
        if _MISSING.search(said):
            return MissingTool(
                f"{method} is not there ({said})",
                where=f"host {self._host}",
                remedy="install it, or use another become.method",
            )
        return BecomeRefused(
            f"{method} does not let the user become {user}: {said or 'it said nothing'}",
            host=self._host,
            remedy=(
                f"allow it there ({'/etc/doas.conf' if method is BecomeMethod.DOAS else 'visudo'}),"
                " or leave `become` out"
            ),
        )

    def _wrong(self) -> BecomePasswordWrong:
        return BecomePasswordWrong(
            f"{self._become.method} does not accept the password",
            host=self._host,
            remedy="provide the right one where become.password refers to",
        )
