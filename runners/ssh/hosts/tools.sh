#!/bin/sh
# each argument: the words of a version command as shell text, its first the program. Prints path
# NUL what the command says NUL
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C; export PATH LC_ALL

limit=
command -v timeout >/dev/null && limit='timeout 10'
set -f
for words; do
    eval "set -- $words"
    path=
    case $1 in
    /*) [ -f "$1" ] && [ -x "$1" ] && path=$1 ;;
    *) IFS=:; for p in $PATH; do [ -f "$p/$1" ] && [ -x "$p/$1" ] && { path=$p/$1; break; }; done; unset IFS ;;
    esac
    asks=$2
    printf '%s\0' "$path"
    if [ -n "$path" ] && [ "$asks" = asks ]; then
        shift 2
        $limit "$path" "$@" </dev/null 2>&1 | head -c 2000 | tr '\0' ' '
    fi
    printf '\0'
done
