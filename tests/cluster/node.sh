#!/bin/sh
# Process 1 of a node, in pid, mount, uts and ipc namespaces of its own and the node's network namespace. To kill it is a power cut.
# usage: node.sh DIRECTORY, which holds: name, containerd.toml, kubelet.yaml, proxy.yaml, cni.conflist, daemon (starts one), images (paths of archives)
set -eu
state=$1
name=$(cat "$state/name")
hostname "$name"
mount --make-rshared /
mount -t proc proc /proc
# a fresh sysfs shows this network namespace's devices, but the control groups must be those of the machine
mkdir -p "$state/sys"
mount -t sysfs sysfs "$state/sys"
mount --rbind /sys/fs/cgroup "$state/sys/fs/cgroup"
mount --rbind "$state/sys" /sys
# what programs of a node insist on keeping at a fixed place is kept in its own directory
keep() {
    mkdir -p "$state/$1" "$2"
    mount --bind "$state/$1" "$2"
}
keep kubelet /var/lib/kubelet
mount --make-rshared /var/lib/kubelet
keep containerd /var/lib/containerd
keep addresses /var/lib/cni
keep network /etc/cni/net.d
keep log /var/log
keep volumes /opt/local-path-provisioner
cp "$state/cni.conflist" /etc/cni/net.d/10-bridge.conflist
mount --bind "$state/machine-id" /etc/machine-id
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock
# the kubelet sets these for the whole machine: it gets files to write to instead
for name in kernel/panic kernel/panic_on_oops vm/overcommit_memory vm/panic_on_oom kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
    copy=$state/sysctl-$(basename "$name")
    cat "/proc/sys/$name" >"$copy"
    mount --bind "$copy" "/proc/sys/$name"
done
sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 || true
sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true # where the module has it
"$state/daemon" containerd
tries=0
until ctr version >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || exit 1
    sleep 0.1
done
while read -r archive; do
    mark=$state/imported-$(basename "$archive")-$(stat -c %Y-%s "$archive")
    [ -e "$mark" ] || { ctr -n k8s.io images import "$archive" >/dev/null && : >"$mark"; }
done <"$state/images"
"$state/daemon" kubelet
"$state/daemon" kube-proxy
trap 'exit 0' TERM INT
while :; do # wait reaps what daemons leave behind
    sleep 3600 &
    wait $!
done
