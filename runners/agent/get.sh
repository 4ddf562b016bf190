#!/bin/sh
# $1 work directory, $2 name. Says: gone, outside, absent and why, or "found", and then the bytes
# shellcheck source=inside.sh
. "${0%/*}/inside.sh"

why=$(head -c 0 <"./$2" 2>&1) || { echo "absent ${why##*: }"; exit 0; }
[ -f "./$2" ] || { echo "absent not a file"; exit 0; }
echo found
cat "./$2"
