#!/bin/sh
# $1 host, $2 port. Prints "accepted" if a TCP connection is accepted within a second, with whatever
# the image has for it; "toolless" if it has nothing.
if command -v nc >/dev/null; then
    # busybox has it without -z
    { nc -z -w 1 "$1" "$2" || nc -w 1 "$1" "$2" -e true; } 2>/dev/null && echo accepted
elif command -v bash >/dev/null; then
    timeout 1 bash -c ': <"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null && echo accepted
elif command -v python3 >/dev/null; then
    python3 -c 'import socket as s, sys; s.create_connection((sys.argv[1], int(sys.argv[2])), 1)' "$1" "$2" 2>/dev/null && echo accepted
else
    echo toolless
fi
exit 0
