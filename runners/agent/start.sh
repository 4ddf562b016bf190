#!/bin/sh
# Starts a job, in a clean environment. What it consists of comes as assignments before this text
# (start.py): jobs (directory), job (id), run, token (of the session), lock (file, or nothing), work
# (directory), cpus (as the kernel lists them, or nothing), hold, ttl (s), lasting (of a command
# whose processes may outlast it the file that says so as long as its allocation is there, or
# nothing), fifos (those of `end` and `life` that are wanted), tell (see wrapper.sh), group
# (the file that names the control group), record (text for the file `job`), wrapper, away, port
# and addresses (hexadecimal, of a server; or nothing), the function `environment`, the arguments.
# Says one word: started, attached, withdrawn, missing PATH, occupied, cpus and which there are,
# unlocked OWNER, gone, or refused and why; exit code 73: no room or no right.
# - Of several starters exactly one runs the program: wrapper.sh takes the job by creating `pid`.
# - A job that exists is attached to. One that this very session took back may be started after all;
#   one that another took back never is.
# - A starter whose controller died may be overtaken by all this. It removes a directory only if
#   nobody else's job can be in it: by its name it would find its successor's. So it looks whether
#   the name is still that of its directory and takes the job like a wrapper; then all goes in one
#   step.
# - The program is looked up here, in the PATH it will have, and is run by its absolute path: a
#   builtin of the shell must not stand in for it.
# - The wrapper inherits the host's lock, shared with the run: as long as a job lives, the host is
#   nobody else's.
# - The FIFO is opened here, before the wrapper is there, so that it has a writer from the first
#   moment on.
# - away is `setsid -f` where the host has it: what a shell starts with `&` ignores SIGINT and
#   SIGQUIT for good, and so would the program. Else it is `setsid`, or nothing: then the session is
#   the one that sshd made for this script, which serves as well.
# - The command substitution ends when the wrapper closes its end of the pipe: it has taken the job,
#   or could not be executed.

# shellcheck source=sockets.sh
. "${0%/*}/sockets.sh"

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
if { read -r group <"$group"; } 2>/dev/null; then
    [ -d "$group" ] || mkdir -p -- "$group" 2>/dev/null || group=
else
    group=
fi
cd "$jobs" && { mkdir -m 700 "$job" 2>/dev/null || [ -d "$job" ] || mkdir "$job"; } && cd "$job" || exit 73
# the second try says why: dash's printf does not tell a full disk from others
store() { printf '%s\n' "$2" >"$1" 2>/dev/null || printf '%s\n' "$2" | cat >"$1"; }
undo() {
    [ . -ef "$jobs/$job" ] || say withdrawn
    set -C
    { { true >pid; } 2>/dev/null || [ ! -e pid ]; } && drop
}
pipes() { for f in $fifos; do [ -p "$f" ] || return; done; }
{ pipes || mkfifo -m 600 $fifos 2>/dev/null || pipes || mkfifo $fifos; } && store "job.$$" "$record" && mv -f "job.$$" job \
    && { [ -z "$lasting" ] || store "$lasting" "$job"; } && true >>stdout && true >>stderr || { undo; exit 73; }
[ -z "$fifos" ] || exec 4<>end
own=$PATH
wrap() {
    exec $pin $away "${BENCHSPEC_SH:-/bin/sh}" -c "$wrapper" benchspec-job "$work" "$own" "$hold" "$lasting" "$ttl" "$tell" "$group" fine "$program" "$@" 3>&1 >>stdout 2>>stderr </dev/null
}
environment
case $away in *-f) taken=$(wrap "$@") ;; *) taken=$(wrap "$@" &) ;; esac
PATH=$own
case $taken in taken) say started ;; esac
[ ! -e pid ] || say attached
why=$(tail -c 500 stderr)
undo
say refused "$why"
