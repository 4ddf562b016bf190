#!/bin/sh
# $1 host, $2 port, $3 times. Asks for / over HTTP, each time on a new connection: prints the status
# of each answer until one does not come; "toolless" if it cannot.
host=$1 port=$2 times=$3 name=$1
case $host in *:*) name=[$host] ;; esac
asked="GET / HTTP/1.1\r\nHost: $name\r\nConnection: close\r\n\r\n"
if command -v curl >/dev/null; then
    ask() { curl -s -m 2 --noproxy '*' -o /dev/null -w '%{http_code}' "http://$name:$port/"; }
elif command -v bash >/dev/null; then
    ask() { timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/$1"; printf %b "$2" >&3; read -r _ s _ <&3 && echo "$s"' "$host" "$port" "$asked" 2>/dev/null; }
elif command -v nc >/dev/null; then
    ask() { printf %b "$asked" | nc -w 2 "$host" "$port" | { read -r _ s _ && echo "$s"; }; }
else
    echo toolless
    exit 0
fi
n=0
while [ "$n" -lt "$times" ] && s=$(ask); do
    echo "$s"
    n=$((n + 1))
done
exit 0
