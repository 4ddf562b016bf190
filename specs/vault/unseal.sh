#!/bin/sh
# Initialise Vault once, keep keys and token in the secret vault-init, and unseal all five replicas. Talks to kubectl's current context. Safe to
# repeat: what is initialised or unsealed already stays so. Keys and token pass through pipes alone, never through a file or an argument.
set -eu
known() { kubectl -n vault get secret vault-init >/dev/null 2>&1; }

if ! known; then
  kubectl -n vault exec vault-0 -- vault operator init -format=json |
    jq '{apiVersion: "v1", kind: "Secret", metadata: {name: "vault-init"},
      stringData: {"root-token": .root_token, "unseal-keys": (.unseal_keys_b64[:3] | map(. + "\n") | add)}}' |
    kubectl -n vault create -f -
  known
fi

for replica in 0 1 2 3 4; do
  kubectl -n vault get secret vault-init -o 'jsonpath={.data.unseal-keys}' | base64 -d | while read -r key; do
    printf %s "$key" | kubectl -n vault exec -i "vault-$replica" -- vault write sys/unseal key=- >/dev/null
  done
  kubectl -n vault exec "vault-$replica" -- vault status >/dev/null # fails while it is sealed
done
