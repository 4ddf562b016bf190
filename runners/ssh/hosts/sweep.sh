#!/bin/sh
# Removes what runs left here whose controllers never came back, when its ttl is over. state is the
# directory of all runs (directories.sh), run this one's id: what is of others is looked at.
#
# The host alone is asked: a run's journal may be gone. A site's directory says in its file `ttl`
# how long it is kept, and where the work directories are. That time counts from the last sign of
# life: an allocation made, a job started or ended, a connection lost. What a lifecycle brought up
# is left alone, however old: only its own destroy steps can take it down.
#
# What is large takes its time to erase, and a session is waiting. After sweep_s the sweep is cut
# short where there is `timeout` (else between two directories), and the next run goes on. Jobs are
# put away at once, so that a run which comes back after all finds none of them with half of its
# files; what is in the work directories goes then, and the file `ttl`, which tells of all, goes
# last. The host's lock is held for this run, so that no other one can come back meanwhile; where
# there is no flock, a run that lives is known by its processes. Whatever cannot be told or removed
# stays.

# shellcheck source=../../agent/processes.sh
. "${0%/*}/../../agent/processes.sh"
# shellcheck source=../../agent/groups.sh
. "${0%/*}/../../agent/groups.sh"
# shellcheck source=../../agent/look.sh
. "${0%/*}/../../agent/look.sh"

sweep_s=60

# is the site's directory $2 of run $1, kept for $3 s, over that, with nothing of the run alive and nothing brought up that is to last?
overdue() {
    case $3 in "" | *[!0-9]*) return 1 ;; esac
    for f in "$2"/allocations/standing@*; do [ ! -e "$f" ] || return 1; done
    seen=0
    for t in $(stat -c %Y "$2/ttl" "$2/allocations" "$2/jobs" "$2"/jobs/* "$2"/jobs/*/rc 2>/dev/null); do
        [ "$t" -le "$seen" ] || seen=$t
    done
    [ "$seen" -gt 0 ] && [ "$(($(date +%s) - seen))" -ge "$3" ] || return 1
    printf 'a\0' | grep -qzFx a || return 1 # without which no process would be found
    found=
    scan_marks - "BENCHSPEC_RUN=$1"
    scan_marks - "BENCHSPEC_LOCK=$1"
    for j in "$2"/jobs/*; do
        read_leader "$j" && lives "$leader" "$began" "$boot_of" && found="$found $leader"
    done
    [ -z "$found" ]
}
mounted_below() {
    while read -r _ at _; do case $at in "$1"/*) return 0 ;; esac; done </proc/mounts
    return 1
}
# run a program in what is left of the time, if anything is
within() {
    uptime_now
    [ "$now" -lt "$late" ] || return 1
    if [ -n "$limited" ]; then timeout "$(((late - now) / 100 + 1))" "$@"; else "$@"; fi
}
erase() {
    within rm -rf "$1" || { within chmod -R u+rwX "$1"; within rm -rf "$1"; }
}
sweep() {
    limited=
    ! timeout 1 true || limited=yes
    uptime_now
    late=$((now + 100 * sweep_s))
    for f in "$state"/*/*/ttl; do
        within true || return
        site=${f%/ttl}
        of=${site%/*}
        [ "${of##*/}" != "$1" ] && [ ! -L "$of" ] && [ ! -L "$site" ] && read -r ttl work <"$f" && overdue "${of##*/}" "$site" "$ttl" || continue
        case $work in
        "$site/work") ;;
        */"benchspec-${of##*/}/${site##*/}")
            # not there: its disk may not be mounted, and only the site's directory says what lies on it
            [ -d "$work" ] && [ ! -L "$work" ] && [ ! -L "${work%/*}" ] || continue ;;
        *) continue ;;
        esac
        ! mounted_below "$work" && ! mounted_below "$site" || continue
        [ ! -e "$site/jobs" ] || { erase "$site/overdue" && mv "$site/jobs" "$site/overdue"; } || continue # its run may have come back meanwhile
        read_groups "$site"/allocations/group@*
        for g in $groups; do remove_group "$g"; done
        for d in "$site/overdue" "$work"/* "$site/allocations"; do erase "$d" || continue 2; done
        rm -rf "$work" "$site"
        [ "$work" = "$site/work" ] || rmdir "${work%/*}"
        rmdir "$of"
    done
}
(sweep "$run") >/dev/null 2>&1
:
