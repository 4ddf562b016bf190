#!/bin/sh
# Removes what vxlan-up.sh made; its routes and neighbours go with the link.
set -eu
! ip link show flannel.1 >/dev/null 2>&1 || ip link delete flannel.1
