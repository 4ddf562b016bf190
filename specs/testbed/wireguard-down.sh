#!/bin/sh
# Removes what wireguard-key.sh and wireguard-up.sh made; wireguard-go ends with its link.
set -eu
! ip link show wg0 >/dev/null 2>&1 || ip link delete wg0
rm -rf /run/testbed-wireguard
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e /run/wireguard/wg0.sock ] || break # its socket goes last
    sleep 0.2
done
rmdir /run/wireguard 2>/dev/null || true
