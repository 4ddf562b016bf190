#!/bin/sh
# $1 run id. Says "lock" if this host is held for that run.

# shellcheck source=../../agent/processes.sh
. "${0%/*}/../../agent/processes.sh"
# shellcheck source=lock.sh
. "${0%/*}/lock.sh"

found=
scan_marks - "BENCHSPEC_LOCK=$1"
if [ -n "$found" ] || lock_file "$1"; then echo lock; fi
:
