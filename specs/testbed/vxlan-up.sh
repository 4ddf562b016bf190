#!/bin/sh
# A network over the hosts' own as flannel's vxlan backend makes it: VXLAN 1 on UDP port 8472, addresses and neighbours written down, nothing learnt.
# Runs on every one of $HOSTS (names that all of them resolve); the n-th has 10.244.n.0 there.
set -eu

address() { getent ahostsv4 "$1" | awk '{ print $1; exit }'; }
link_of() { ip -o -4 addr show to "$1" | awk '{ print $2; exit }'; }
hardware() { printf '02:00:0a:f4:%02x:00' "$1"; }

ip link delete flannel.1 2>/dev/null || true # of a try that stopped half-way
n=0
for host in $HOSTS; do
    n=$((n + 1)) own=$(address "$host")
    link=$(link_of "$own")
    [ -n "$link" ] || continue
    mtu=$(($(cat "/sys/class/net/$link/mtu") - 50)) # room for the headers around every packet
    ip link add flannel.1 mtu "$mtu" address "$(hardware $n)" type vxlan id 1 dev "$link" local "$own" dstport 8472 nolearning
    ip addr add "10.244.$n.0/32" dev flannel.1
    ip link set flannel.1 up
done
n=0
for host in $HOSTS; do
    n=$((n + 1)) other=$(address "$host")
    [ -z "$(link_of "$other")" ] || continue
    bridge fdb append "$(hardware $n)" dev flannel.1 dst "$other"
    ip neigh replace "10.244.$n.0" lladdr "$(hardware $n)" dev flannel.1 nud permanent
    ip route replace "10.244.$n.0/24" via "10.244.$n.0" dev flannel.1 onlink
done
