#!/bin/sh
# $1 the directory of all jobs, $2 the job, $3 the file that is told of ends, or nothing, then its
# marks. Ends everybody of the job but the wrapper, which then writes down how the program ended;
# only if it does not, it is ended too and its part done here. Says: gone, ended, or alive and the
# pids of those who outlive SIGKILL.

# shellcheck source=processes.sh
. "${0%/*}/processes.sh"

jobs=$1 job=$2 tell=$3
shift 3
cd "$jobs/$job" 2>/dev/null || { echo gone; exit 0; }
leader=- began=- boot_of=-
read_leader .
marks=$*
wrapper=$leader
wraps() { [ "$leader" != - ] && lives "$leader" "$began" "$boot_of"; }
look() {
    found=
    if wraps; then scan_session "$leader" "$wrapper"; fi
    scan_marks "$wrapper" $marks
}
end_all
first=$used rounds=0
while wraps && [ "$rounds" -lt 100 ]; do
    nap 0.02
    rounds=$((rounds + 1))
done
wrapper=-
[ -z "$found" ] && { look; [ -z "$found" ] || end_all; }
if [ "$first" -gt 0 ] && [ ! -s rc ]; then
    read -r u _ </proc/uptime
    echo "$((128 + first)) - - $(date +%s.%N) ${u%.*}${u#*.}" >rc.new && mv -f rc.new rc
    [ -z "$tell" ] || echo "ended $job" >"$tell"
fi
[ -z "$found" ] && echo ended || echo "alive$found"
