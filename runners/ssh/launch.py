"""How a program is started on a host: detached, in a session of its own, with a small environment, exactly once per job.

Between the host's sshd and the program stands one POSIX shell, the wrapper, which outlives connection and controller and writes down how the program
ended. What the job consists of reaches the starting script through its standard input, as assignments that it evaluates: so neither an argument nor
a file ever holds a secret.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from .family import FAMILY_SCRIPT
from .sockets import LISTENS_SCRIPT

MORE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""What is added to the PATH that the host gives to commands over SSH, which often leaves the administrator's programs out."""

# $1 work directory, $2 PATH of its own, $3 when to begin (1/100 s of the host's uptime; 0: at once), $4 of a lasting command anything, else nothing,
# $5 after how many s it is ended if nobody else does (the site's ttl), then the program.
# Started in the job's directory, with the program's environment. Descriptors: 3 the starter listens for "taken", 4 the FIFO `end`, 9 the host's lock.
# - `set -C` makes `>pid` an O_EXCL creation: of several wrappers of one job exactly one runs the program. The relative name binds to the directory:
#   a wrapper whose job was withdrawn or discarded finds nothing to write to.
# - The pid file is the boot id and the wrapper's own line of /proc, so that neither a reused pid nor a restarted host deceives anybody.
# - As long as the wrapper lives, `end` has a writer; whoever reads it gets the end of file when the wrapper is gone, however that came about.
# - 5 keeps the program's stderr apart from the shell's own remarks ("Terminated"), which are dropped.
# - The traps let the wrapper survive a signal that is meant for the group. A wait for the start that is cut short ends the job.
# - Times are taken before and after, twice: by the wall clock, which is fine but may be set, and by the uptime, which is coarse but only runs.
# - What the program leaves in its session would disturb the next trial, and is ended here, before the end is told.
# - The ttl is slept out by two processes, `clock` and `keeper`: a shell that waits for its program cannot look at the time. keeper reads from the
#   FIFO `life` that clock alone has open for writing, so that both end with clock, which is killed when the program has ended. Neither holds `end` or
#   the lock; what is meant for the group does not end them; and who ends clock before its time ends nothing else, since keeper looks at the uptime.
WRAPPER_SCRIPT = (
    r"""
w=$1 own=$2 hold=$3 lasting=$4 ttl=$5
shift 5
exec 5>&2 2>/dev/null
trap : HUP INT QUIT TERM
set -C
IFS= read -r s </proc/$$/stat && read -r b </proc/sys/kernel/random/boot_id && echo "$b $s" >pid || exit 125
set +C
echo taken >&3
exec 3>&-
theirs=$PATH PATH=$own d=$PWD
cd "$w" && unset OLDPWD && export PWD || { echo "benchspec: the work directory $w is gone" >&5; echo "126 - - - -" >"$d/rc"; exit 126; }
"""
    + FAMILY_SCRIPT
    + r"""
others() { scan_session $$ "$1"; scan_marks "$1" "BENCHSPEC_JOB=$BENCHSPEC_JOB" "BENCHSPEC_RUN=$BENCHSPEC_RUN" "BENCHSPEC_SITE=$BENCHSPEC_SITE"; }
uptime_now
due=$((now + ttl * 100))
exec 6<>"$d/life" 7<"$d/life"
(trap '' HUP INT QUIT TERM; exec sleep "$ttl" >&6 4>&- 5>&- 6>&- 7<&- 9>&-) &
clock=$!
(
    trap '' HUP INT QUIT TERM
    exec 4>&- 6>&- 9>&-
    read -r _ <&7
    uptime_now
    [ "$now" -ge "$due" ] || exit 0
    read -r me _ </proc/self/stat
    look() { others "$$ $me"; }
    end_all
    [ "$used" -eq 0 ] || exit 3
) &
keeper=$!
exec 6>&- 7<&-
# clock may be dead, and its pid another's
call_off() {
    { IFS= read -r s <"/proc/$clock/stat"; } 2>/dev/null && case ${s##*)} in " "?" $$ "*) kill -9 "$clock" ;; esac
    wait "$keeper"
    [ $? -ne 3 ] || echo "benchspec: ended by its host, $ttl s after its start (ttl)" >&5
    wait "$clock"
}
if [ "$hold" != 0 ]; then
    uptime_now
    rest=$((hold - now)) cut=0
    if [ "$rest" -gt 0 ]; then
        sleep "$((rest / 100)).$((rest % 100 / 10))$((rest % 10))" || { cut=$?; [ "$cut" -gt 128 ] || { sleep "$((rest / 100))"; cut=$?; }; }
        [ "$cut" -eq 0 ] || { call_off; echo "$cut - - - -" >"$d/rc"; exit "$cut"; }
    fi
    until [ "$now" -ge "$hold" ]; do uptime_now; done
fi
from="$(date +%s.%N)"
uptime_now
from="$from $now"
(PATH=$theirs; exec "$@" 2>&5 4>&- 5>&- 9>&-)
code=$?
uptime_now
to="$(date +%s.%N) $now"
call_off
if [ -z "$lasting" ]; then
    look() { scan_session $$ $$; }
    look
    if [ -n "$found" ]; then
        look() { others $$; }
        end_all
    fi
fi
echo "$code $from $to" >"$d/rc"
"""
)

# Evaluates what comes on standard input, in a clean environment: assignments of jobs (directory), job (id), run, token (of the session), lock (file,
# or nothing), work (directory), cpus (as the kernel lists them, or nothing), hold, ttl (s), lasting (file that says so as long as its allocation is
# there, or nothing), record (text for the file `job`), wrapper, away, port and addresses (hexadecimal, of a server; or nothing), the function
# `environment`, the arguments, and this. Says one word: started, attached, withdrawn, missing PATH, occupied, cpus and which there are, unlocked
# OWNER, gone, or refused and why; exit code 73: no room or no right.
# - A job that exists is attached to. One that this very session took back may be started after all; one that another took back never is.
# - A starter whose controller died may be overtaken by all this. It removes a directory only if nobody else's job can be in it: by its name it would
#   find its successor's. So it looks whether the name is still that of its directory and takes the job like a wrapper; then all goes in one step.
# - The program is looked up here, in the PATH it will have, and is run by its absolute path: a builtin of the shell must not stand in for it.
# - The wrapper inherits the host's lock, shared with the run: as long as a job lives, the host is nobody else's.
# - The FIFO is opened here, before the wrapper is there, so that it has a writer from the first moment on.
# - away is `setsid -f` where the host has it: what a shell starts with `&` ignores SIGINT and SIGQUIT for good, and so would the program. Else it is
#   `setsid`, or nothing: then the session is the one that sshd made for this script, which serves as well.
# - The command substitution ends when the wrapper closes its end of the pipe: it has taken the job, or could not be executed.
STARTER_SCRIPT = (
    LISTENS_SCRIPT
    + r"""
say() { printf '%s\n' "$*"; exit 0; }
drop() { mv "$jobs/$job" "$jobs/$job.$$" && rm -rf "$jobs/$job.$$"; }
set -f
cd "$jobs" 2>/dev/null || say gone
if [ -e "$job/pid" ]; then
    read -r word by <"$job/pid"
    case "$word $by" in "withdrawn $token") drop ;; "withdrawn "*) say withdrawn ;; *) say attached ;; esac
fi
cd "$work" 2>/dev/null || say gone
program=
sought=$(environment; printf '%s' "$PATH")
case $1 in
*/*) [ -f "$1" ] && [ -x "$1" ] && case $1 in /*) program=$1 ;; *) program=$work/$1 ;; esac ;;
*) IFS=:; for p in $sought; do [ -f "$p/$1" ] && [ -x "$p/$1" ] && { program=$p/$1; break; }; done; unset IFS ;;
esac
case $program in "") say missing "$sought" ;; /*) ;; *) program=$work/$program ;; esac
shift
pin=
if [ -n "$cpus" ]; then
    command -v taskset >/dev/null || say cpus "no taskset (package util-linux)"
    had=$(taskset -c "$cpus" sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status 2>&1)
    [ "$had" = "$cpus" ] || say cpus "CPUs $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
    pin="taskset -c $cpus"
fi
if [ -n "$port" ] && listens "$port" "$addresses"; then say occupied; fi
if [ -n "$lock" ]; then
    [ -r "$lock" ] || say unlocked
    exec 9<"$lock"
    read -r owner <"$lock"
    flock -n -s 9 && [ "${owner%% *}" = "$run" ] || say unlocked "$owner"
fi
cd "$jobs" && { mkdir -m 700 "$job" 2>/dev/null || [ -d "$job" ] || mkdir "$job"; } && cd "$job" || exit 73
# the second try says why: dash's printf does not tell a full disk from others
store() { printf '%s\n' "$2" >"$1" 2>/dev/null || printf '%s\n' "$2" | cat >"$1"; }
undo() {
    [ . -ef "$jobs/$job" ] || say withdrawn
    set -C
    { { true >pid; } 2>/dev/null || [ ! -e pid ]; } && drop
}
fifos() { [ -p end ] && [ -p life ]; }
{ fifos || mkfifo -m 600 end life 2>/dev/null || fifos || mkfifo end life; } && store "job.$$" "$record" && mv -f "job.$$" job \
    && { [ -z "$lasting" ] || store "$lasting" "$job"; } && true >>stdout && true >>stderr || { undo; exit 73; }
exec 4<>end
own=$PATH
wrap() {
    exec $pin $away /bin/sh -c "$wrapper" benchspec-job "$work" "$own" "$hold" "$lasting" "$ttl" "$program" "$@" 3>&1 >>stdout 2>>stderr </dev/null
}
environment
case $away in *-f) taken=$(wrap "$@") ;; *) taken=$(wrap "$@" &) ;; esac
PATH=$own
case $taken in taken) say started ;; esac
[ ! -e pid ] || say attached
why=$(tail -c 500 stderr)
undo
say refused "$why"
"""
)

START_SCRIPT = f'exec env -i PATH="${{PATH:+$PATH:}}{MORE_PATH}" HOME="${{HOME:-/}}" LC_ALL=C /bin/sh -c \'eval "$(cat)"\' benchspec-start'
"""Starts the job that :func:`starter` describes. Idempotent: whoever sends it again attaches."""


def starter(variables: Mapping[str, str], environment: Mapping[str, str], argv: Sequence[str]) -> bytes:
    """What :data:`START_SCRIPT` reads: the variables of the starter, the program's environment beside PATH, HOME and LC_ALL, its arguments."""
    lines = [f"{name}={shlex.quote(value)}" for name, value in {**variables, "wrapper": WRAPPER_SCRIPT}.items()]
    exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
    lines += [f"environment() {{ export {exports}; }}", f"set -- {shlex.join(argv)}", STARTER_SCRIPT]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def cpu_list(cpus: Sequence[int]) -> str:
    """CPU numbers as the kernel lists them, such as ``0-2,5``."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
