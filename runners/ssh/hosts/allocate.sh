#!/bin/sh
# $1 run id, $2 site, $3 directory of work directories or nothing, $4 ttl (s), $5 allocation id, $6
# where control groups can be made, or nothing, then ROLE:CPUS:PORT, the port from which on a free
# one is sought. Prints a line per role: role, port, CPUs. What a controller before wrote down is
# printed again: so a later one takes the allocation over. Each role has a file and a directory of
# its own, since two hosts of a site may turn out to be one machine. Ports are sought below those
# that the kernel gives to outgoing connections, so that none is taken between now and the server's
# start; one that any socket of this host has, of whatever kind and in whatever state, is left
# alone.

# shellcheck source=directories.sh
. "${0%/*}/directories.sh"

id=$5 home=$6 used=
group=$home/benchspec/$1/$2/$5
shift 6
# shellcheck disable=SC2174
mkdir -p -m 700 -- "$work/$id" || exit 73
if [ -n "$home" ] && [ ! -e "$site/allocations/group@$id" ]; then
    # the file first: a group that no file names would stay
    echo "$group" | cat >"$site/allocations/group@$id" || exit 73
    mkdir -p -- "$group" 2>/dev/null || mkdir -p -- "$group" 2>/dev/null || rm -f "$site/allocations/group@$id"
fi
sockets() { cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null; }
for wish; do
    role=${wish%%:*} port=${wish##*:} cpus=${wish#*:}
    cpus=${cpus%:*} file=$site/allocations/$role@$id
    if [ -f "$file" ]; then cat "$file"; continue; fi
    rm -rf "${work:?}/$id/$role" # of a controller that died in the middle of this
    mkdir -m 700 -- "$work/$id/$role" || exit 73
    [ -n "$used" ] || used=$(sockets | awk '{ n = split($2, part, ":"); if (n == 2) printf " %s ", part[2] }')
    while hex=$(printf %04X "$port"); do
        case $used in *" $hex "*) port=$((20000 + (port - 19999) % 10000)) ;; *) break ;; esac
    done
    used="$used $hex "
    echo "$role $port ${cpus:--}" | cat >"$file.new" && mv -f "$file.new" "$file" && cat "$file" || exit 73
done
