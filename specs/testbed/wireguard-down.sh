#!/bin/sh
# Removes what wireguard-key.sh and wireguard-up.sh made; wireguard-go ends with its link.
set -eu
! ip link show wg0 >/dev/null 2>&1 || ip link delete wg0
rm -rf /run/testbed-wireguard
