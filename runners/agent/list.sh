#!/bin/sh
# $1 to $4 as in run.sh. Prints a line per thing that a run left: its kind, and for a directory its
# path.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"
# shellcheck source=run.sh
. "${0%/*}/run.sh"

look
[ -z "$found" ] || echo processes
for p in "$work" "$site"; do
    case $p in "$site"/*) continue ;; esac
    if [ -d "$p" ] && [ ! -L "$p" ]; then printf 'directory %s\n' "$p"; fi
done
