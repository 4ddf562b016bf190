"""Making, using and releasing an allocation on one host, in POSIX sh."""

from __future__ import annotations

from .family import FAMILY_SCRIPT
from .places import DIRECTORIES_SCRIPT

# $1 run id, $2 site, $3 directory of work directories or nothing, $4 ttl (s), $5 allocation id, then ROLE:CPUS:PORT, the port from which on a free
# one is sought.
# Prints a line per role: role, port, CPUs. What a controller before wrote down is printed again: so a later one takes the allocation over. Each role
# has a file and a directory of its own, since two hosts of a site may turn out to be one machine.
# Ports are sought below those that the kernel gives to outgoing connections, so that none is taken between now and the server's start; one that any
# socket of this host has, of whatever kind and in whatever state, is left alone.
ALLOCATE_SCRIPT = (
    DIRECTORIES_SCRIPT
    + r"""
id=$5 used=
shift 5
mkdir -p -m 700 -- "$work/$id" || exit 73
sockets() { cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null; }
for wish; do
    role=${wish%%:*} port=${wish##*:} cpus=${wish#*:}
    cpus=${cpus%:*} file=$site/allocations/$role@$id
    if [ -f "$file" ]; then cat "$file"; continue; fi
    rm -rf "$work/$id/$role" # of a controller that died in the middle of this
    mkdir -m 700 -- "$work/$id/$role" || exit 73
    [ -n "$used" ] || used=$(sockets | awk '{ n = split($2, part, ":"); if (n == 2) printf " %s ", part[2] }')
    while hex=$(printf %04X "$port"); do
        case $used in *" $hex "*) port=$((20000 + (port - 19999) % 10000)) ;; *) break ;; esac
    done
    used="$used $hex "
    echo "$role $port ${cpus:--}" | cat >"$file.new" && mv -f "$file.new" "$file" && cat "$file" || exit 73
done
"""
)

# A name below the work directory may go through links that a program made; where they lead is looked at before anything is touched
_INSIDE = r"""
cd "$1" 2>/dev/null || { echo gone; exit 0; }
top=$(pwd -P)
inside() {
    near=$1
    until [ -e "$near" ] || [ -L "$near" ]; do
        case $near in */*) near=${near%/*} ;; *) near=. ;; esac
    done
    case $(readlink -f -- "$near")/ in "$top"/*) ;; *) echo outside; exit 0 ;; esac
}
inside "./$2"
"""

# $1 work directory, $2 name; the bytes come on standard input. Says: gone, outside, or placed
PUT_SCRIPT = (
    _INSIDE
    + r"""
case $2 in */*) mkdir -p -- "./${2%/*}" || exit 73 ;; esac
inside "./$2"
cat >"./$2" || exit 73
echo placed
"""
)

# $1 work directory, $2 name. Says: gone, outside, absent and why, or "found", and then the bytes
GET_SCRIPT = (
    _INSIDE
    + r"""
why=$(head -c 0 <"./$2" 2>&1) || { echo "absent ${why##*: }"; exit 0; }
[ -f "./$2" ] || { echo "absent not a file"; exit 0; }
echo found
cat "./$2"
"""
)

# $1 jobs, $2 job, $3 how many bytes: the end of its stderr
WORDS_SCRIPT = r"""
cd "$1/$2" 2>/dev/null && tail -c "$3" stderr
:
"""

# $1 jobs, $2 allocations, $3 work, $4 allocation id, then the marks of its processes. Ends everybody and removes everything, then looks what is left:
# says "released", or "left" and what. A program that cleared its environment is found through the session of its wrapper.
RELEASE_SCRIPT = (
    FAMILY_SCRIPT
    + r"""
jobs=$1 allocations=$2 work=$3 id=$4 m1=$5 m2=$6 m3=$7
mine= sessions=
for d in "$jobs"/*; do
    { read -r of <"$d/job"; } 2>/dev/null && [ "$of" = "$id" ] || continue
    mine="$mine ${d##*/}"
    read_leader "$d" && lives "$leader" "$began" "$boot_of" && sessions="$sessions $leader"
done
look() {
    all=
    for s in $sessions; do
        scan_session "$s" -
        all="$all $found"
    done
    found=${all# }
    found=${found% }
    scan_marks - "$m1" "$m2" "$m3"
    case $found in *[0-9]*) ;; *) found= ;; esac
}
end_all
remove() {
    rm -rf "$1" 2>/dev/null
    [ -e "$1" ] || return 0
    chmod -R u+rwX "$1" 2>/dev/null # some programs make directories that even their owner may not change
    rm -rf "$1"
}
for j in $mine; do remove "$jobs/$j"; done
remove "$work/$id"
rm -f "$allocations"/*@"$id"
left=
[ -z "$found" ] || left=" processes$found"
for j in $mine; do [ ! -e "$jobs/$j" ] || left="$left $jobs/$j"; done
for p in "$work/$id" "$allocations"/*@"$id"; do [ ! -e "$p" ] || left="$left $p"; done
[ -z "$left" ] && echo released || echo "left$left"
"""
)
