#!/bin/sh
# $1 port, $2 addresses, $3 how long to wait (1/100 s), $4 jobs, $5 job of the server. Says:
# listening, deaf, or ended
# shellcheck source=processes.sh
. "${0%/*}/processes.sh"

# shellcheck source=sockets.sh
. "${0%/*}/sockets.sh"

uptime_now
late=$((now + $3))
until listens "$1" "$2"; do
    [ ! -s "$4/$5/rc" ] || { echo ended; exit 0; }
    uptime_now
    [ "$now" -lt "$late" ] || { echo deaf; exit 0; }
    nap 0.02
done
echo listening
