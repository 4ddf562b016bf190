#!/bin/sh
# $1 run id, $2 mark of the holders to end: of all of the run, or of one. The file is removed behind
# the gate, and only if nobody holds it any more: jobs may, and so may the same run that came back.
# Says: freed, held, or alive and who
# shellcheck source=../../agent/processes.sh
. "${0%/*}/../../agent/processes.sh"

# shellcheck source=lock.sh
. "${0%/*}/lock.sh"

mark=$2
look() { found=; scan_marks - "$mark"; }
end_all
[ -z "$found" ] || { echo "alive$found"; exit 0; }
if lock_file "$1" && command -v flock >/dev/null; then
    exec 8<"${lock%/*}" 9<"$lock"
    flock 8
    flock -n 9 || { echo held; exit 0; }
    rm -f "$lock"
fi
echo freed
