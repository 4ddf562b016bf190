"""Where a run keeps its things on a host, and the script that makes these places.

Layout, all for the user alone (mode 0700)::

    /var/tmp/benchspec-UID/RUN_ID/SITE/jobs/JOB_ID/              see record.py
    /var/tmp/benchspec-UID/RUN_ID/SITE/allocations/ROLE@ALLOCATION_ID port and CPUs of a role
    /var/tmp/benchspec-UID/RUN_ID/SITE/allocations/standing@ALLOCATION_ID there if something was brought up that is to last
    /var/tmp/benchspec-UID/RUN_ID/SITE/ttl                       for how long (s) all this is kept, a space, and where the work directories are
    /var/tmp/benchspec-UID/RUN_ID/SITE/overdue/                  jobs that a sweep (overdue.py) has not erased in its time
    /var/tmp/benchspec-UID/RUN_ID/SITE/work/ALLOCATION_ID/ROLE/  work directories, unless the option ``workdir`` moves them to
    WORKDIR/benchspec-RUN_ID/SITE/ALLOCATION_ID/ROLE/

/var/tmp and not /run or /tmp, since work directories hold test files of many GiB, and a memory file system would be measured instead of the disk.
Exit code 73 of any script means: no room, or no right to write; what stderr says last is the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...engine.errors import RunFailed, UsageError
from ...engine.ports import DEFAULT_TTL_S
from .overdue import SWEEP_SCRIPT

STATE = "/var/tmp"
NO_ROOM = 73

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")

# $1 run id, $2 site, $3 directory of work directories or nothing, $4 ttl (s). Sets state, site and work.
# /var/tmp is open to everybody: what is there already must be ours, no link, and closed to others
DIRECTORIES_SCRIPT = r"""
umask 022
user=$(id -u)
private() {
    [ -e "$1" ] || [ -L "$1" ] || mkdir -m 700 -- "$1" || [ -d "$1" ] || exit 73
    set -- "$1" $(ls -ldn -- "$1")
    case $2 in drwx------*) [ "$4" = "$user" ] && return ;; esac
    echo "$1 is not a private directory of this user (mode $2, uid $4); remove it" >&2
    exit 73
}
state=/var/tmp/benchspec-$user
site=$state/$1/$2
private "$state" # nobody else gets below it
work=$site/work
if [ -n "$3" ]; then
    [ -d "$3" ] || { echo "$3 is not there; make it, or mount the disk that is to be measured" >&2; exit 73; }
    private "$3/benchspec-$1"
    work=$3/benchspec-$1/$2
fi
mkdir -p -m 700 -- "$state/$1" "$site" "$site/jobs" "$site/allocations" "$work" || exit 73
{ printf '%s %s\n' "$4" "$work" >"$site/ttl"; } 2>/dev/null || printf '%s %s\n' "$4" "$work" | cat >"$site/ttl" || exit 73
"""

# Removes those of the directories that hold nothing any more, and a site's `ttl` with the last of what it is about
_REMOVE_EMPTY = r"""
remove_empty() {
    for p; do
        [ ! -f "$p/ttl" ] || [ -e "$p/jobs" ] || [ -e "$p/allocations" ] || [ -e "$p/work" ] || [ -e "$p/overdue" ] || rm -f "$p/ttl"
        rmdir "$p" 2>/dev/null
    done
}
"""

# The same arguments. Prints the uid, the HOME, the address by which sshd was reached (sshd(8), SSH_CONNECTION), and what begins a session here.
# Where not all can be made, those that were are taken away again: nobody else will. What is overdue of other runs is removed: the host is ours now
ENTER_SCRIPT = (
    _REMOVE_EMPTY
    + r"""
run=$1 dir=$3 site=
undo() {
    [ "$1" -eq 0 ] || [ -z "$site" ] && return
    remove_empty "${work:-$site/work}" "${dir:-$site}/benchspec-$run" "$site/jobs" "$site/allocations" "$site" "$state/$run" "$state"
}
trap 'undo $?' EXIT
"""
    + DIRECTORIES_SCRIPT
    + r"""
away=
if setsid -f true 2>/dev/null; then away='setsid -f'; elif command -v setsid >/dev/null; then away=setsid; fi
set -- $SSH_CONNECTION
printf '%s\n%s\n%s\n%s\n' "$user" "$HOME" "$3" "$away"
"""
    + SWEEP_SCRIPT
)

# $1 token of the session, then the run's directories, the innermost first. Jobs that the session took back are forgotten; then what is empty goes
LEAVE_SCRIPT = (
    _REMOVE_EMPTY
    + r"""
token=$1
shift
for p; do
    case $p in */jobs)
        for f in $(grep -l -s -x -F -e "withdrawn $token" "$p"/*/pid); do rm -rf "${f%/pid}"; done ;;
    esac
done
remove_empty "$@"
:
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The directories of one site of a run on one host. ``workdir`` and ``ttl_s`` are the options; ``workdir`` is "" where there is none."""

    run_id: str
    site: str
    user: str
    workdir: str = ""
    ttl_s: int = round(DEFAULT_TTL_S)

    @property
    def state(self) -> str:
        """The directory of all that belongs to the site."""
        return f"{STATE}/benchspec-{self.user}/{self.run_id}/{self.site}"

    @property
    def jobs(self) -> str:
        """One directory per job that was started and not yet discarded."""
        return f"{self.state}/jobs"

    @property
    def allocations(self) -> str:
        """One file per role and allocation that was not released."""
        return f"{self.state}/allocations"

    def standing(self, allocation_id: str) -> str:
        """The file that says that something was brought up for an allocation which is to last: nobody but `down` or `clean` may remove it."""
        return f"{self.allocations}/standing@{allocation_id}"

    @property
    def work(self) -> str:
        """The work directories of all allocations."""
        return f"{self.workdir}/benchspec-{self.run_id}/{self.site}" if self.workdir else f"{self.state}/work"

    def roots(self) -> tuple[str, ...]:
        """The topmost directories that belong to this site and run alone."""
        return (self.work, self.state) if self.workdir else (self.state,)

    def inner_first(self) -> tuple[str, ...]:
        """All directories, in the order in which they can be removed once they are empty."""
        moved = (self.work.rpartition("/")[0],) if self.workdir else ()
        run = self.state.rpartition("/")[0]
        return (self.work, *moved, self.allocations, self.jobs, self.state, run, run.rpartition("/")[0])


def checked_name(name: str, what: str) -> str:
    """Return ``name`` if it can be one file name and nothing else. Raises UsageError."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"found {what} {name!r}, expected letters, digits, '.', '_' and '-', starting with a letter or digit")
    return name


def checked_file(name: str, directory: str) -> str:
    """Return ``name`` if it can be a file below ``directory``; what links do there is checked on the host. Raises RunFailed."""
    parts = name.split("/")
    if not name or "\0" in name or name.startswith("/") or ".." in parts or all(part in ("", ".") for part in parts) or parts[-1] in ("", "."):
        raise RunFailed(f"found file name {name!r}, expected one inside the work directory", where=directory)
    return name
