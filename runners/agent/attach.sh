#!/bin/sh
# $3 token of the session. Says "known" and then the file `job`, or "never": then the job is taken
# back for good, by the same exclusive creation of `pid` with which a wrapper takes it; one that is
# on its way gets a second first.
cd "$1" 2>/dev/null || { echo never; exit 0; }
tries=0
while [ -d "$2" ] && [ ! -e "$2/pid" ] && [ "$tries" -lt 20 ]; do
    sleep 0.05 2>/dev/null || { sleep 1; tries=20; }
    tries=$((tries + 1))
done
if [ ! -e "$2/pid" ]; then
    mkdir -m 700 "$2" 2>/dev/null || [ -d "$2" ] || mkdir "$2" || exit 73
    set -C
    if { echo "withdrawn $3" >"$2/pid"; } 2>/dev/null; then echo never; exit 0; fi
    set +C
fi
read -r word _ <"$2/pid"
[ "$word" != withdrawn ] || { echo never; exit 0; }
echo known
cat "$2/job"
