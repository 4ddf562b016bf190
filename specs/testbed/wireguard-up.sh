#!/bin/sh
# A WireGuard tunnel between all of $HOSTS, whose public keys are $KEYS in the same order; the n-th has 10.77.0.n there. By wireguard-go, so that the
# kernel needs TUN alone. MTU as wg-quick sets it: 80 less than the link's, which leaves room for IPv6 outside.
set -eu

address() { getent ahostsv4 "$1" | awk '{ print $1; exit }'; }
link_of() { ip -o -4 addr show to "$1" | awk '{ print $2; exit }'; }

ip link delete wg0 2>/dev/null || true # of a try that stopped half-way
wireguard-go wg0 >/dev/null 2>&1
wg set wg0 listen-port 51820 private-key /run/testbed-wireguard/key
n=0
for host in $HOSTS; do
    n=$((n + 1)) of=$(address "$host")
    key=$(echo "$KEYS" | cut -d ' ' -f $n)
    link=$(link_of "$of")
    if [ -n "$link" ]; then
        ip addr add "10.77.0.$n/24" dev wg0
        ip link set wg0 mtu $(($(cat "/sys/class/net/$link/mtu") - 80)) up
    else
        wg set wg0 peer "$key" endpoint "$of:51820" allowed-ips "10.77.0.$n/32"
    fi
done
