"""What can go wrong between here and a host, each its own type, naming the host and what to do. All
are failures of a run (exit 4).

``permanent`` failures do not go away by trying again, so that nothing reconnects after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...engine.model.errors import BenchspecError, JobTimeout, RunFailed, TransportLost
from ..agent.door import HostDiskFull as HostDiskFull


class HostFailure(TransportLost):
    """A host cannot be used; ``where`` is its name."""

    permanent: ClassVar[bool] = True

    def __init__(self, message: str, *, host: str, remedy: str) -> None:
        super().__init__(message, where=f"host {host}", remedy=remedy)
        self.host = host

    def beside(self, others: Sequence[BenchspecError]) -> HostFailure:
        """This failure with those of other hosts, which are told along with it."""
        told = "".join(f"\n  also {error.where}: {error.message}" for error in others)
        return type(self)(self.message + told, host=self.host, remedy=str(self.remedy))


class UnknownHost(HostFailure):
    """The name has no address."""


class PortRefused(HostFailure):
    """The host answers, and nothing listens at that port."""

    permanent = False


class Unreachable(HostFailure):
    """There is no way to the host, or it closes the connection before it says who it is."""

    permanent = False


class NoAnswer(HostFailure):
    """The host does not answer in time while connecting."""

    permanent = False


class NotSsh(HostFailure):
    """What listens there does not speak SSH, or nothing that this program speaks."""


class HostKeyUnknown(HostFailure):
    """The host shows a key that nobody has vouched for."""


class HostKeyChanged(HostFailure):
    """The host shows another key than the known one: it was set up anew, or it is another
    machine.
    """


class KeyUnusable(HostFailure):
    """A private key cannot be read: not there, no key, or locked by a passphrase that nobody
    gave.
    """


class NoKeyAccepted(HostFailure):
    """The host is who it says, and lets none of our keys in."""


class ConfigRefused(HostFailure):
    """ssh_config or the spec asks for a way to the host that is not taken."""


class ConnectionBroke(HostFailure):
    """An established connection ended in the middle of something that must not be done twice."""

    permanent = False


class HostSilent(HostFailure):
    """The host accepted the connection and then stopped answering."""

    permanent = False


class SessionsRefused(HostFailure):
    """The host's sshd opens no session at all."""


class WrongShell(HostFailure):
    """The user's login shell runs no POSIX sh."""


class BecomeRefused(HostFailure):
    """The user may not become the other user."""


class BecomePasswordNeeded(HostFailure):
    """A password is asked for, and the spec refers to none."""


class BecomePasswordWrong(HostFailure):
    """The password that the spec refers to is not accepted."""


class NotReached(RunFailed):
    """A host cannot open a connection to where a server should be."""


class ScriptTimeout(JobTimeout):
    """A script on a host that answers did not end in time."""


class ScriptKilled(RunFailed):
    """The shell of a script was ended by a signal, so that its exit code is not known."""
