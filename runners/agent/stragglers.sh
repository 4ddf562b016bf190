#!/bin/sh
# $1 pid of a wrapper that ended a moment ago, then the marks of its job. Ends everybody whom it left
# in its session, and whom the marks tell. Says: ended, or alive and who.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"

session=$1
shift
marks=$*
look() {
    scan_session "$session" -
    scan_marks - $marks
}
end_all
[ -z "$found" ] && echo ended || echo "alive$found"
