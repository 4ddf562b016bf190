"""What is asked of a job's directory on its host, in POSIX sh. $1 is the directory of all jobs, $2 the job's id.

The first line of an answer is a word that says how it went. All of them may be sent again when a connection broke: the second time finds what the
first did.
"""

from __future__ import annotations

from .family import FAMILY_SCRIPT

# Blocks until the wrapper is gone, without polling. `<>` never blocks; it is the writer that lets the second opening return at once, and is then
# closed: what remains to write is the wrapper, and the end of file comes when it ends, or at once if it has ended already. As short as can be, since
# the host reads it while the program runs. Says: ended, gone, or unsure.
WAIT_SCRIPT = r"""
cd "$1/$2" 2>/dev/null || { echo gone; exit; }
if [ -p end ]; then
exec 5<>end
exec 6<end 5>&-
read -r _ <&6
fi
[ -s rc ] && echo ended || echo unsure
"""

# How it is with a job whose wait ended without rc. Says: gone, ended, running (it was still on its way), full (rc took no bytes), or lost.
STATE_SCRIPT = (
    FAMILY_SCRIPT
    + r"""
cd "$1/$2" 2>/dev/null || { echo gone; exit 0; }
if [ ! -s rc ] && read_leader . && lives "$leader" "$began" "$boot_of"; then nap 0.05; echo running; exit 0; fi
if [ -s rc ]; then echo ended; elif [ -e rc ] || [ ! -e pid ]; then echo full; else echo lost; fi
"""
)

# $3... marks. Ends everybody of the job but the wrapper, which then writes down how the program ended; only if it does not, it is ended too and its
# part done here. Says: gone, ended, or alive and the pids of those who outlive SIGKILL.
END_SCRIPT = (
    FAMILY_SCRIPT
    + r"""
jobs=$1 job=$2
shift 2
cd "$jobs/$job" 2>/dev/null || { echo gone; exit 0; }
leader=- began=- boot_of=-
read_leader .
m1=$1 m2=$2 m3=$3
wrapper=$leader
look() {
    found=
    if [ "$leader" != - ] && lives "$leader" "$began" "$boot_of"; then scan_session "$leader" "$wrapper"; fi
    scan_marks "$wrapper" "$m1" "$m2" "$m3"
}
end_all
first=$used rounds=0
while [ "$leader" != - ] && lives "$leader" "$began" "$boot_of" && [ "$rounds" -lt 100 ]; do
    nap 0.02
    rounds=$((rounds + 1))
done
wrapper=-
[ -z "$found" ] && { look; [ -z "$found" ] || end_all; }
if [ "$first" -gt 0 ] && [ ! -s rc ]; then
    read -r u _ </proc/uptime
    echo "$((128 + first)) - - $(date +%s.%N) ${u%.*}${u#*.}" >rc.new && mv -f rc.new rc
fi
[ -z "$found" ] && echo ended || echo "alive$found"
"""
)

# $3 work directory, then names of files to fetch. Says: gone, running, or "ended" and then, each as NAME SIZE, a newline and the bytes: rc, stdout,
# stderr, and 1, 2, ... for the files that are there. Before that: outside NAME, or unreadable NAME.
COLLECT_SCRIPT = r"""
jobs=$1 job=$2 work=$3
shift 3
cd "$jobs/$job" 2>/dev/null || { echo gone; exit 0; }
[ -s rc ] || { echo running; exit 0; }
top=
[ "$#" -eq 0 ] || top=$(readlink -f -- "$work")
for name; do
    [ -f "$work/$name" ] || continue
    case $(readlink -f -- "$work/$name") in "$top"/*) ;; *) printf 'outside %s\n' "$name"; exit 0 ;; esac
    [ -r "$work/$name" ] || { printf 'unreadable %s\n' "$name"; exit 0; }
done
emit() {
    size=$(wc -c <"$2")
    printf '%s %s\n' "$1" "$((size))"
    head -c "$((size))" <"$2"
}
echo ended
for name in rc stdout stderr; do emit "$name" "$name"; done
number=0
for name; do
    number=$((number + 1))
    if [ -f "$work/$name" ]; then emit "$number" "$work/$name"; fi
done
"""

# Says: gone, running, or removed.
DISCARD_SCRIPT = (
    FAMILY_SCRIPT
    + r"""
cd "$1" 2>/dev/null && [ -d "$2" ] || { echo gone; exit 0; }
[ -s "$2/rc" ] || { read_leader "$2" && lives "$leader" "$began" "$boot_of" && { echo running; exit 0; }; }
rm -rf "$2" && echo removed || exit 73
"""
)

# $3 token of the session. Says "known" and then the file `job`, or "never": then the job is taken back for good, by the same exclusive creation of
# `pid` with which a wrapper takes it; one that is on its way gets a second first.
ATTACH_SCRIPT = r"""
cd "$1" 2>/dev/null || { echo never; exit 0; }
tries=0
while [ -d "$2" ] && [ ! -e "$2/pid" ] && [ "$tries" -lt 20 ]; do
    sleep 0.05 2>/dev/null || { sleep 1; tries=20; }
    tries=$((tries + 1))
done
if [ ! -e "$2/pid" ]; then
    mkdir -m 700 "$2" 2>/dev/null || [ -d "$2" ] || mkdir "$2" || exit 73
    set -C
    if { echo "withdrawn $3" >"$2/pid"; } 2>/dev/null; then echo never; exit 0; fi
    set +C
fi
read -r word _ <"$2/pid"
[ "$word" != withdrawn ] || { echo never; exit 0; }
echo known
cat "$2/job"
"""
