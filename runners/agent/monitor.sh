#!/bin/sh
# $1 interval (s), $2 directory, $3 how many bytes may be kept. Prints "began", and when standard
# input says or ends anything, all samples: "@UPTIME" and the texts. A string that grows for hours
# would make every sample dearer than the one before: what exceeds $3 goes to a file without a name.
# One sed per sample reads all files, of /proc/vmstat one line; /proc/stat comes last, since it goes on with a number per
# interrupt, much more than the CPUs' lines. The shell cannot wait for a time and for standard input
# at once: a second one reads, and wakes it by a signal.
exec 3<&0
route=$(cat /proc/net/route 2>/dev/null)
dir=$2 most=$3 taken= stop= put=
sleep 0.01 2>/dev/null || case $1 in *.*) set -- 1 ;; esac # a sleep that knows whole seconds only
trap 'stop=1' TERM
trap '' PIPE HUP
{ trap - TERM; read -r _ <&3; kill -TERM $$; } &
take() {
    read -r u _ </proc/uptime
    taken="$taken@$u
$(sed -n -e '/^Mem[TA][ov]/p' -e '/^oom_kill /p' -e '/^[a-z][a-z_0-9]* [0-9]*$/d' -e '/ kB$/d' -e '/^intr /q' -e p /proc/loadavg /proc/net/dev /proc/meminfo /proc/vmstat /proc/stat 2>/dev/null)
"
    [ "${#taken}" -le "$most" ] || put_away
}
put_away() {
    if [ -z "$put" ]; then
        (umask 077; printf '' >"$dir/samples.$$") 2>/dev/null || { most=$((2 * most)); return; }
        exec 4>>"$dir/samples.$$" 5<"$dir/samples.$$"
        rm -f "$dir/samples.$$"
        put=yes
    fi
    printf %s "$taken" >&4 || put=failed # what was cut short cannot be read
    taken=
}
take
echo began
while :; do
    if [ -z "$stop" ]; then
        sleep "$1" >/dev/null 2>&1 3<&- &
        nap=$!
        [ -n "$stop" ] || wait "$nap"
        [ -z "$stop" ] || kill "$nap" 2>/dev/null
    fi
    take # also when the word came before the first nap
    [ -z "$stop" ] || break
done
printf '%s\n' "$route"
[ "$put" != yes ] || cat <&5
[ "$put" = failed ] || printf '%s\n' "$taken" # the rest of a trial would be taken for the whole
