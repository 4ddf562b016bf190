#!/bin/sh
# $1 the directory to make things in ("": the user's home), $2 run id, then for each file: name,
# offset, size. The bytes of all come on standard input. They are put aside first, since only from a
# file can every `head` take a part without reading on. Prints the directory, then a sha256 per file
umask 077
top=${1:-$HOME}/benchspec-results/$2
shift 2
mkdir -p -- "$top" && cd "$top" || exit 73
top=$(pwd -P)
cat >.incoming || { rm -f .incoming; exit 73; }
printf '%s\n' "$top"
while [ "$#" -gt 2 ]; do
    case $1 in */*) mkdir -p -- "./${1%/*}" || exit 73 ;; esac
    { tail -c "+$(($2 + 1))" .incoming | head -c "$3" >"./$1"; } 2>/dev/null
    sha256sum <"./$1" || exit 73
    shift 3
done
rm -f .incoming
