#!/bin/sh
# $1 run id, $2 who has it, $3 patience (s), $4 token. Says: held FILE, free (no flock here), locked
# OWNER, or refused WHY. Then answers each line: to "when" wall clock and uptime, to "who" the
# machine-id, until "bye", which gives the lock back at once. A broken connection it outlives by its
# patience.
say() { printf '%s\n' "$*"; }
trap : HUP PIPE
umask 022 # all users read who holds the host
user=$(id -u) lock=
for d in /var/tmp /tmp /dev/shm; do [ -w "$d" ] && break; done
if command -v flock >/dev/null; then
    lock=$d/benchspec.lock-$user
    exec 8<"$d"
    flock 8
    for f in "$d"/benchspec.lock-*; do
        if [ -f "$f" ] && [ "$f" != "$lock" ] && [ -r "$f" ]; then
            exec 7<"$f"
            owner=
            read -r owner <"$f"
            [ "${owner%% *}" = "$1" ] || flock -n 7 || { say locked "$owner"; exit 0; } # the same run, as another user, is welcome
            exec 7<&-
        fi
    done
    [ ! -L "$lock" ] || { say refused "$lock is a link; remove it"; exit 0; }
    [ -f "$lock" ] || why=$({ : >"$lock"; } 2>&1) || { say refused "$why"; exit 0; }
    exec 9<"$lock"
    owner=
    read -r owner <"$lock"
    if [ "${owner%% *}" = "$1" ] && flock -n -s 9; then :
    elif flock -n 9; then
        why=$({ say "$1 $2" | cat >"$lock"; } 2>&1) || { rm -f "$lock"; say refused "$why"; exit 0; } # cat says why, dash's printf does not
        flock -s 9
    else
        say locked "$owner"
        exit 0
    fi
    exec 8<&-
    say held "$lock"
else
    say free
fi
while read -r word; do
    case $word in
    bye) patience=0; break ;;
    who) id=; { read -r id </etc/machine-id; } 2>/dev/null; say "$id" ;;
    when) read -r u _ </proc/uptime; say "$(date +%s.%N)" "${u%.*}${u#*.}" ;;
    esac
done
touch -c "/var/tmp/benchspec-$user/$1"/*/ttl 2>/dev/null # what is left there may be removed when its ttl is over, counted from now on
[ "${patience=$3}" = 0 ] || sleep "$patience"
[ -n "$lock" ] || exit 0
exec 8<"$d"
flock 8
flock -n 9 && rm -f "$lock"
exit 0
