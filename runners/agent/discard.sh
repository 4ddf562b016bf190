#!/bin/sh
# $1 the directory of all jobs, $2 the job. Says: gone, running, or removed. Where something was
# brought up that is to last, the job's session is noted: by it what stays is known.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"
# shellcheck source=kept.sh
. "${0%/*}/kept.sh"

cd "$1" 2>/dev/null && [ -d "$2" ] || { echo gone; exit 0; }
[ -s "$2/rc" ] || { read_leader "$2" && lives "$leader" "$began" "$boot_of" && { echo running; exit 0; }; }
read -r of <"$2/job" && [ -e "../allocations/standing@$of" ] && span "$2" >>"../allocations/sessions@$of"
rm -rf "$2" && echo removed || exit 73
