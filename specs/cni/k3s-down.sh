#!/bin/sh
# Remove k3s from all three hosts, also when the installation stopped half-way.
set -eu
for host in cni-client cni-server; do
  ssh "root@$host" 'test ! -x /usr/local/bin/k3s-agent-uninstall.sh || /usr/local/bin/k3s-agent-uninstall.sh'
done
ssh root@cni-master 'test ! -x /usr/local/bin/k3s-uninstall.sh || /usr/local/bin/k3s-uninstall.sh'
rm -f cni-k3s.kubeconfig
