"""Exclusive use of a host: one run at a time, whoever's it is, with the owner's name for all others to read.

The lock is `flock` on a file per user, ``/var/tmp/benchspec.lock-UID`` (readable by all: its text names the owner), held in shared mode by everything
of the run: by a small process behind a channel for as long as the session lives, and by the wrapper of every job (launch.py). So it outlives a broken
connection or a killed controller exactly as long as something still runs, and the same run, resumed, joins it. A run that comes first to a host takes
the exclusive mode for a moment, which it gets only if nobody holds the shared one. Before that it sees that no other user's file is held. All of this
happens behind a gate, `flock` on the directory itself, so that two newcomers do not disturb each other.

Where a host has no `flock`, nothing is held: doctor says so. The same channel answers questions about the host's clock (clock.py).
"""

from __future__ import annotations

import getpass
import secrets
import shlex
import socket
import time

from ...engine.errors import Locked
from .connection import Connection
from .failures import ConnectionBroke, HostDiskFull, HostSilent
from .family import FAMILY_SCRIPT
from .launch import MORE_PATH

ANSWER_TIMEOUT_S = 30.0
PATIENCE_S = 90
"""So long the lock outlives a broken connection by itself: longer than connecting again is tried."""

# $1 run id, $2 who has it, $3 patience (s), $4 token. Says: held FILE, free (no flock here), locked OWNER, or refused WHY. Then answers each line: to
# "when" wall clock and uptime, to "who" the machine-id, until "bye", which gives the lock back at once. A broken connection it outlives by its
# patience.
_HOLD = r"""
say() { printf '%s\n' "$*"; }
trap : HUP PIPE
umask 022 # all users read who holds the host
user=$(id -u) lock=
for d in /var/tmp /tmp /dev/shm; do [ -w "$d" ] && break; done
if command -v flock >/dev/null; then
    lock=$d/benchspec.lock-$user
    exec 8<"$d"
    flock 8
    for f in "$d"/benchspec.lock-*; do
        if [ -f "$f" ] && [ "$f" != "$lock" ] && [ -r "$f" ]; then
            exec 7<"$f"
            owner=
            read -r owner <"$f"
            [ "${owner%% *}" = "$1" ] || flock -n 7 || { say locked "$owner"; exit 0; } # the same run, as another user, is welcome
            exec 7<&-
        fi
    done
    [ ! -L "$lock" ] || { say refused "$lock is a link; remove it"; exit 0; }
    [ -f "$lock" ] || why=$({ : >"$lock"; } 2>&1) || { say refused "$why"; exit 0; }
    exec 9<"$lock"
    owner=
    read -r owner <"$lock"
    if [ "${owner%% *}" = "$1" ] && flock -n -s 9; then :
    elif flock -n 9; then
        why=$({ say "$1 $2" | cat >"$lock"; } 2>&1) || { rm -f "$lock"; say refused "$why"; exit 0; } # cat says why, dash's printf does not
        flock -s 9
    else
        say locked "$owner"
        exit 0
    fi
    exec 8<&-
    say held "$lock"
else
    say free
fi
while read -r word; do
    case $word in
    bye) patience=0; break ;;
    who) id=; { read -r id </etc/machine-id; } 2>/dev/null; say "$id" ;;
    when) read -r u _ </proc/uptime; say "$(date +%s.%N)" "${u%.*}${u#*.}" ;;
    esac
done
touch -c "/var/tmp/benchspec-$user/$1"/*/ttl 2>/dev/null # what is left there may be removed when its ttl is over, counted from now on
[ "${patience=$3}" = 0 ] || sleep "$patience"
[ -n "$lock" ] || exit 0
exec 8<"$d"
flock 8
flock -n 9 && rm -f "$lock"
exit 0
"""

_CARRYING = f'env PATH="${{PATH:+$PATH:}}{MORE_PATH}" LC_ALL=C BENCHSPEC_LOCK="$1" BENCHSPEC_HOLDER="$4"'

HOLD_SCRIPT = f'exec {_CARRYING} /bin/sh -c {shlex.quote(_HOLD)} benchspec-lock "$@"'
"""Holds a host as a process that carries the run's mark and the holder's own in its environment."""

LOCK_FILE_SCRIPT = r"""
# lock = the lock's file of this user; false if it is not that of run $1
lock_file() {
    for d in /var/tmp /tmp /dev/shm; do
        lock=$d/benchspec.lock-$(id -u)
        { read -r owner _ <"$lock"; } 2>/dev/null && [ "$owner" = "$1" ] && return 0
    done
    return 1
}
"""

# $1 run id, $2 mark of the holders to end: of all of the run, or of one. The file is removed behind the gate, and only if nobody holds it any more:
# jobs may, and so may the same run that came back. Says: freed, held, or alive and who
UNLOCK_SCRIPT = (
    FAMILY_SCRIPT
    + LOCK_FILE_SCRIPT
    + r"""
mark=$2
look() { found=; scan_marks - "$mark"; }
end_all
[ -z "$found" ] || { echo "alive$found"; exit 0; }
if lock_file "$1" && command -v flock >/dev/null; then
    exec 8<"${lock%/*}" 9<"$lock"
    flock 8
    flock -n 9 || { echo held; exit 0; }
    rm -f "$lock"
fi
echo freed
"""
)


class Hold:
    """The channel behind which a host is held for a run."""

    def __init__(self, connection: Connection, host: str, run_id: str, *, privileged: bool) -> None:
        self.run_id = run_id
        self.mark = f"BENCHSPEC_HOLDER={(token := secrets.token_hex(8))}"
        """What the holding process carries in its environment."""
        self._stream = connection.stream(HOLD_SCRIPT, (run_id, describe_owner(), str(PATIENCE_S), token), privileged=privileged)
        self._host = host
        self._held = b""
        word, _, detail = self.line().partition(" ")
        if word not in ("held", "free"):
            self._stream.close()
            raise self._refusal(word, detail)
        self.file = detail
        """The lock's file on the host; "" where there is no flock."""

    def _refusal(self, word: str, detail: str) -> Locked | HostDiskFull:
        if word == "locked":
            run, _, owner = detail.partition(" ")
            return Locked(
                f"is used by run {run or 'of an unknown owner'} ({owner or 'it says no more'})",
                where=f"host {self._host}",
                remedy="wait until it has ended; if its controller is gone for good, `benchspec clean` on that run frees the host",
            )
        why = f"cannot be locked: {detail or word}"
        return HostDiskFull(why, where=f"host {self._host}", remedy="free space in /var/tmp, and let this user write there")

    def ask(self, question: str) -> str:
        """What the host says to ``who`` (its machine-id) or ``when`` (wall clock and uptime): one way there and back. Raises TransportLost.

        A question that was not answered in time is the last one: its answer would be taken for that of the next.
        """
        self._stream.write(f"{question}\n".encode())
        try:
            return self.line()
        except HostSilent:
            self._stream.close()
            raise

    def line(self) -> str:
        """The next line that the host says. Raises TransportLost."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while b"\n" not in self._held:
            piece = self._stream.read(max(0.0, deadline - time.monotonic()))
            if piece is None:
                raise ConnectionBroke("the process that held the host was ended", host=self._host, remedy="look who ends this user's processes")
            if not piece and time.monotonic() >= deadline:
                raise HostSilent("does not say its time", host=self._host, remedy="look whether the host is busy")
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        return line.decode("utf-8", "replace")

    def release(self) -> None:
        """Give the lock back, as far as this session holds it (idempotent)."""
        self._stream.write(b"bye\n")
        while self._stream.read(ANSWER_TIMEOUT_S):
            pass
        self._stream.close()


def describe_owner() -> str:
    """Who this controller is, for whoever finds the host taken."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    return f"{user} at {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())}"
