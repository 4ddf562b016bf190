#!/bin/sh
# What is there of an allocation or of a run, in four ways at once. Follows processes.sh, groups.sh
# and kept.sh. marks (words) and sessions (leaders' pids) are set, and spans, groups and site (its
# directory)

# found = everybody who is in one of the groups or sessions, carries all marks, or is known by what
# is kept. Who is to be killed is killed with the whole group
look() {
    found=
    for one in $groups; do [ "${signal-}" != 9 ] || kill_group "$one"; done
    all=
    for one in $sessions; do
        scan_session "$one" -
        all="$all$found"
    done
    found=$all
    for one in $groups; do scan_group "$one"; done
    scan_marks - $marks
    scan_kept "$site"
}

# groups = what the files $1 ... name
read_groups() {
    groups=
    for at; do
        { read -r named <"$at" && [ -d "$named" ] && groups="$groups $named"; } 2>/dev/null
    done
}

# sessions, spans = those of the jobs in the directories $1 ..., as far as they matter: the sessions
# of wrappers that live, and what lasting jobs had
read_sessions() {
    sessions=
    for at; do
        [ -e "$at/pid" ] && read_leader "$at" && lives "$leader" "$began" "$boot_of" && sessions="$sessions $leader"
    done
}

# remove the directory $1; some programs make directories that even their owner may not change
remove() {
    rm -rf "$1" 2>/dev/null
    [ -e "$1" ] || return 0
    chmod -R u+rwX "$1" 2>/dev/null
    rm -rf "$1"
}

# remove the control group $1, and the directories above it that hold no other
remove_group() {
    leave_empty "$1" && rmdir "${1%/*}" "${1%/*/*}" "${1%/*/*/*}" 2>/dev/null
}
