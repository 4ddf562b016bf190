#!/bin/sh
# Makes the directories of a site (directories.py).
# $1 run id, $2 site, $3 directory of work directories or nothing, $4 ttl (s). Sets state, site and
# work. /var/tmp is open to everybody: what is there already must be ours, no link, and closed to
# others
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
# shellcheck disable=SC2174
mkdir -p -m 700 -- "$state/$1" "$site" "$site/jobs" "$site/allocations" "$work" || exit 73
{ printf '%s %s\n' "$4" "$work" >"$site/ttl"; } 2>/dev/null || printf '%s %s\n' "$4" "$work" | cat >"$site/ttl" || exit 73
note_began() {
    { read -r boot </proc/sys/kernel/random/boot_id && IFS= read -r line </proc/$$/stat; } 2>/dev/null || return
    set -- ${line##*)}
    { echo "$boot ${20}" >"$site/began"; } 2>/dev/null
}
[ -s "$site/began" ] || note_began
