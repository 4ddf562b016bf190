#!/bin/sh
# k3s 1.20 with flannel over VXLAN: a server on cni-master that runs no pods, agents on cni-client and cni-server. Leaves cni-k3s.kubeconfig here.
set -eu
umask 077
install='curl -sfL https://get.k3s.io | INSTALL_K3S_CHANNEL=v1.20 sh -s -'

ssh root@cni-master "$install server --flannel-backend=vxlan --node-taint node-role.kubernetes.io/master=true:NoSchedule"
token=$(ssh root@cni-master cat /var/lib/rancher/k3s/server/node-token)
for host in cni-client cni-server; do
  # the token goes over standard input: arguments can be read by everyone on the host
  printf '%s\n' "$token" | ssh "root@$host" "read -r K3S_TOKEN; export K3S_TOKEN K3S_URL=https://cni-master:6443; $install agent --node-name $host"
done
ssh root@cni-master cat /etc/rancher/k3s/k3s.yaml | sed 's/127\.0\.0\.1/cni-master/' >cni-k3s.kubeconfig
