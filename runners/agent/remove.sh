#!/bin/sh
# $1 to $4 as in run.sh, $5 the directory. Removes it, with the control groups that it names and the
# directories above it that hold nothing more. Says: removed, link, or left.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"
# shellcheck source=run.sh
. "${0%/*}/run.sh"

[ ! -L "$5" ] || { echo link; exit 0; }
[ "$5" != "$site" ] || for g in $groups; do remove_group "$g"; done
remove "$5" || exit 73
up=${5%/*}
rmdir "$up" 2>/dev/null
case $up in /var/tmp/benchspec-*/*) rmdir "${up%/*}" 2>/dev/null ;; esac
[ ! -e "$5" ] && echo removed || echo left
