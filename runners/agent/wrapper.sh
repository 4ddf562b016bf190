#!/bin/sh
# Stands between whoever starts a job and its program: outlives connection and controller, and
# writes down how the program ended. Started in the job's directory, with the program's environment.
#
# $1 work directory, $2 PATH of its own, $3 when to begin (1/100 s of the host's uptime; 0: at
# once), $4 of a job whose processes may outlast it anything, else nothing, $5 after how many s it
# is ended if nobody else does (the site's ttl; 0: never), $6 the file that is told "ended" and the
# job's id, or nothing, $7 the control group to be in, or nothing, $8 nothing where the wall clock
# need not be asked, then the program. Descriptors: 3 the starter listens for "taken", 4 the FIFO
# `end`, 9 the host's lock.
# - `set -C` makes `>pid` an O_EXCL creation: of several wrappers of one job exactly one runs the
#   program. The relative name binds to the directory: a wrapper whose job was withdrawn or
#   discarded finds nothing to write to.
# - The pid file is the boot id and the wrapper's own line of /proc, so that neither a reused pid
#   nor a restarted host deceives anybody.
# - The group is entered before the job is taken: who finds a group empty and removes it can be sure
#   that no job of it runs, or will.
# - As long as the wrapper lives, `end` has a writer; whoever reads it gets the end of file when the
#   wrapper is gone, however that came about.
# - 5 keeps the program's stderr apart from the shell's own remarks ("Terminated"), which are
#   dropped.
# - The traps let the wrapper survive a signal that is meant for the group. A wait for the start
#   that is cut short ends the job.
# - Times are taken before and after, twice: by the wall clock, which is fine but may be set, and by
#   the uptime, which is coarse but only runs.
# - What the program leaves in its session would disturb the next trial, and is ended here, before
#   the end is told.
# - One write of a whole line to `rc` is complete when its newline is there: every reader checks it.
# - The ttl is slept out by two processes, `clock` and `keeper`: a shell that waits for its program
#   cannot look at the time. keeper reads from the FIFO `life` that clock alone has open for
#   writing, so that both end with clock, which is killed when the program has ended. Neither holds
#   `end` or the lock; what is meant for the group does not end them; and who ends clock before its
#   time ends nothing else, since keeper looks at the uptime.

w=$1 own=$2 hold=$3 lasting=$4 ttl=$5 tell=$6 group=$7 fine=$8
shift 8
exec 5>&2 2>/dev/null
trap : HUP INT QUIT TERM
[ -z "$group" ] || echo 0 >"$group/cgroup.procs" || [ -d "$group" ] || exit 125
set -C
IFS= read -r s </proc/$$/stat && read -r b </proc/sys/kernel/random/boot_id && echo "$b $s" >pid || exit 125
set +C
echo taken >&3
exec 3>&-
theirs=$PATH PATH=$own d=$PWD
over() { echo "$1 ${2:-- - - -}" >"$d/rc"; [ -z "$tell" ] || echo "ended ${d##*/}" >"$tell"; }
cd "$w" && unset OLDPWD && export PWD || { echo "benchspec: the work directory $w is gone" >&5; over 126; exit 126; }

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"

others() { scan_session $$ "$1"; scan_marks "$1" "BENCHSPEC_JOB=$BENCHSPEC_JOB" "BENCHSPEC_RUN=$BENCHSPEC_RUN" "BENCHSPEC_SITE=$BENCHSPEC_SITE"; }
call_off() { :; }
if [ "$ttl" != 0 ]; then
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
fi
if [ "$hold" != 0 ]; then
    uptime_now
    rest=$((hold - now)) cut=0
    if [ "$rest" -gt 0 ]; then
        sleep "$((rest / 100)).$((rest % 100 / 10))$((rest % 10))" || { cut=$?; [ "$cut" -gt 128 ] || { sleep "$((rest / 100))"; cut=$?; }; }
        [ "$cut" -eq 0 ] || { call_off; over "$cut"; exit "$cut"; }
    fi
    until [ "$now" -ge "$hold" ]; do uptime_now; done
fi
stamp() { wall=-; [ -z "$fine" ] || wall=$(date +%s.%N); uptime_now; stamp="$wall $now"; }
stamp
from=$stamp
(PATH=$theirs; exec "$@" 2>&5 4>&- 5>&- 9>&-)
code=$?
uptime_now
ended=$now
[ -z "$fine" ] || wall=$(date +%s.%N)
call_off
if [ -z "$lasting" ]; then
    look() { scan_session $$ $$; }
    look
    if [ -n "$found" ]; then
        look() { others $$; }
        end_all
    fi
fi
over "$code" "$from $wall $ended"
