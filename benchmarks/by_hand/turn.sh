#!/bin/sh
# Whose turn it is: before or after a session's own trials, measure by hand when the line of this session says so. Nothing is left from what was
# measured last when the next begins: a provisioner removes a volume's files in its own time.
#
#   turn.sh KUBECTL FOLDER before|after
#
# FOLDER/order has a line per session: `before` or `after`, and arguments for FOLDER/measure, which is sourced to measure into $output.
set -eu
kubectl=$1 folder=$2 when=$3

settle() {
  n=0
  while :; do
    held=$("$kubectl" get persistentvolumes -o 'jsonpath={range .items[*]}{.spec.claimRef.name}{"\n"}{end}')
    echo "$held" | grep -qE '^(by-hand|bs)-' || break
    n=$((n + 1))
    [ $n -lt 600 ] || { echo "volumes of what was measured last do not go: $held" >&2; exit 1; }
    sleep 0.2
  done
  sleep 1
}

session=$(cat "$folder/session" 2>/dev/null || echo 0)
[ "$when" = after ] || session=$((session + 1))
echo $session >"$folder/session"
settle
set -- $(sed -n "${session}p" "$folder/order")
[ "$1" = "$when" ] || exit 0
shift
output=$folder/$session
mkdir "$output"
. "$folder/measure"
settle
