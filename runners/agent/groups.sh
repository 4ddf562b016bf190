#!/bin/sh
# Control groups (cgroups(7)): what an allocation starts is in its group, wherever it goes and
# whatever it forgets. A group has no limits: it is made below the one that we are in, in the
# unified tree or in the one of the freezer, and no resource is dealt out by it.

# group_home = the directory below which this user can make groups; false if there is none
find_home() {
    for kind in unified freezer; do
        at=$(
            while read -r _ at type options _; do
                case $kind:$type:$options in unified:cgroup2:* | freezer:cgroup:*freezer*) printf '%s\n' "$at"; break ;; esac
            done </proc/mounts
        )
        own=$(
            while IFS=: read -r _ controllers path; do
                case $kind:,$controllers, in unified:,, | freezer:*,freezer,*) printf '%s\n' "$path"; break ;; esac
            done </proc/self/cgroup
        )
        [ -n "$at" ] && [ -n "$own" ] && [ -w "$at$own" ] || continue
        group_home=$at${own%/}
        try=$group_home/benchspec-try-$$
        mkdir "$try" 2>/dev/null || continue
        # only who is moved into it, and comes out again, shows that it can be done
        ( { echo 0 >"$try/cgroup.procs"; } 2>/dev/null) && can=yes || can=
        leave_empty "$try" && [ -n "$can" ] && return 0
    done
    return 1
}

# remove the group $1 with those that programs made in it, which the kernel keeps for a moment
# after the last process has gone; false if somebody is in one
leave_empty() {
    for n in 1 2 3 4 5 6 7 8 9 10; do
        remove_groups "$1"
        [ -d "$1" ] || return 0
        nap 0.01
    done
    return 1
}

# $1 is a group; those in it first
remove_groups() {
    for g in "$1"/*/; do [ ! -d "$g" ] || remove_groups "${g%/}"; done
    rmdir "$1" 2>/dev/null
}

# found = found + the living processes of the group $1 and of those in it
scan_group() {
    for g in "$1"/*/; do [ ! -d "$g" ] || scan_group "${g%/}"; done
    [ -r "$1/cgroup.procs" ] || return 0
    while read -r p; do
        case " $found " in *" $p "*) ;; *) [ "$p" = 0 ] || ! runs "$p" || found="$found $p" ;; esac
    done <"$1/cgroup.procs"
}

# end everybody in the group $1 at once, so that nobody can fork away
kill_group() {
    if [ -w "$1/cgroup.kill" ]; then echo 1 >"$1/cgroup.kill"; return; fi
    [ -w "$1/freezer.state" ] || return 0
    echo FROZEN >"$1/freezer.state"
    found=
    scan_group "$1"
    for p in $found; do kill -9 "$p" 2>/dev/null; done
    echo THAWED >"$1/freezer.state"
}
