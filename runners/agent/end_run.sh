#!/bin/sh
# $1 to $4 as in run.sh. Ends all processes of the run on this site. Says: ended, or alive and who.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"
# shellcheck source=run.sh
. "${0%/*}/run.sh"

end_all
for g in $groups; do remove_group "$g"; done
[ -z "$found" ] && echo ended || echo "alive$found"
