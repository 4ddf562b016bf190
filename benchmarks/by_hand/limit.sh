#!/bin/sh
# Until it is ended: no container on a node of the test bed may make more than IOPS reads and IOPS writes per second on DEVICE, as a cloud's volumes
# may not. Runs as root beside the cluster, on a machine with version 1 of cgroups.
#
#   limit.sh NODE_CGROUP MAJOR:MINOR IOPS          e.g. limit.sh /sys/fs/cgroup/blkio/NODE 254:0 1000
set -eu
cgroup=$1 device=$2 iops=$3
while sleep 0.2; do # long before fio measures: it writes its files first
  for container in $(find "$cgroup/kubepods" -mindepth 3 -type d); do
    for way in read write; do
      limit=$container/blkio.throttle.${way}_iops_device
      # once each: a new limit begins a new account; a container that has ended meanwhile has no file any more
      grep -q . "$limit" 2>/dev/null || { echo "$device $iops" >"$limit"; } 2>/dev/null || true
    done
  done
done
