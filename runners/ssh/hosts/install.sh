#!/bin/sh
# the packages. Says: installed, nobody (no package manager), rights, or "failed" and the last words
# of the manager
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C; export PATH LC_ALL

exec </dev/null
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
if command -v apt-get >/dev/null; then
    again() { apt-get update; }
    add() { apt-get install -y --no-install-recommends "$@"; }
elif command -v dnf >/dev/null; then
    again() { dnf makecache; }
    add() { dnf install -y "$@"; }
elif command -v apk >/dev/null; then
    again() { apk update; }
    add() { apk add "$@"; }
else
    echo nobody
    exit 0
fi
[ "$(id -u)" = 0 ] || { echo rights; exit 0; }
if said=$(add "$@" 2>&1) || { again >/dev/null 2>&1; said=$(add "$@" 2>&1); }; then
    echo installed
else
    echo failed
    printf '%s\n' "$said" | tail -c 2000
fi
