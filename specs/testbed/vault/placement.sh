#!/bin/sh
# See that REPLICAS servers are on as many nodes, none of them the load generator's, and that raft counts them all as voters. The root token passes
# through a pipe and one program's environment in Vault's own pod.
set -eu
placed=$(kubectl get pods --selector=app=vault --output='jsonpath={range .items[*]}{.spec.nodeName}{"\n"}{end}')
nodes=$(echo "$placed" | sort -u)
printf 'nodes of Vault:\n%s\n' "$nodes"
if [ "$(echo "$nodes" | grep -c .)" -ne "$REPLICAS" ]; then echo "expected $REPLICAS nodes" >&2; exit 1; fi
load=$(kubectl get nodes --selector=bench=load --output=name)
if echo "$load" | grep -qxF "$(echo "$nodes" | sed 's|^|node/|')"; then
  echo "expected no Vault on a node of the load generator" >&2
  exit 1
fi

active=$(kubectl get pods --selector=app=vault,vault-active=true --output=name)
kubectl get secret vault-init --output='jsonpath={.data.root-token}' | base64 -d |
  kubectl exec --stdin "$active" -- sh -c 'read -r VAULT_TOKEN; export VAULT_TOKEN; exec vault operator raft list-peers -format=json' |
  jq -e --argjson replicas "$REPLICAS" '.data.config.servers | map({node_id, leader, voter}), (map(select(.voter)) | length == $replicas)' ||
  { echo "raft does not count $REPLICAS voters yet" >&2; exit 1; }
