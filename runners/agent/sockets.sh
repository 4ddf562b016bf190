#!/bin/sh
# does somebody listen on port $1 (4 hexadecimal digits) at one of the addresses $2 (as the tables show them, or "any")?
listens() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$1" -v wanted=" $2 " '
        $4 == "0A" && split($2, part, ":") == 2 && part[2] == port && (wanted == " any " || index(wanted, " " part[1] " ")) { found = 1 }
        END { exit !found }'
}
