#!/bin/sh
# $1 work directory, $2 name; the bytes come on standard input. Says: gone, outside, or placed
# shellcheck source=inside.sh
. "${0%/*}/inside.sh"

case $2 in */*) mkdir -p -- "./${2%/*}" || exit 73 ;; esac
inside "./$2"
cat >"./$2" || exit 73
echo placed
