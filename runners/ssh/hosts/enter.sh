#!/bin/sh
# $1 run id, $2 site, $3 directory of work directories or nothing, $4 ttl (s). Prints the uid, the
# HOME, the address by which sshd was reached (sshd(8), SSH_CONNECTION), what begins a session here,
# and where control groups can be made. Where not all can be made, those directories that were are
# taken away again: nobody else will. What is overdue of other runs is removed: the host is ours now

# shellcheck source=empty.sh
. "${0%/*}/empty.sh"
# shellcheck source=../../agent/processes.sh
. "${0%/*}/../../agent/processes.sh"
# shellcheck source=../../agent/groups.sh
. "${0%/*}/../../agent/groups.sh"

run=$1 dir=$3 site=
undo() {
    [ "$1" -eq 0 ] || [ -z "$site" ] && return
    remove_empty "${work:-$site/work}" "${dir:-$site}/benchspec-$run" "$site/jobs" "$site/allocations" "$site" "$state/$run" "$state"
}
trap 'undo $?' EXIT

# shellcheck source=directories.sh
. "${0%/*}/directories.sh"

away=
if setsid -f true 2>/dev/null; then away='setsid -f'; elif command -v setsid >/dev/null; then away=setsid; fi
find_home || group_home=
set -- $SSH_CONNECTION
printf '%s\n%s\n%s\n%s\n%s\n' "$user" "$HOME" "$3" "$away" "$group_home"

# shellcheck source=sweep.sh
. "${0%/*}/sweep.sh"
