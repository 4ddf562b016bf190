#!/bin/sh
# $3 work directory, then names of files to fetch. Says: gone, running, or "ended" and then, each as
# NAME SIZE, a newline and the bytes: rc, stdout, stderr, and 1, 2, ... for the files that are
# there. Before that: outside NAME, or unreadable NAME.
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
