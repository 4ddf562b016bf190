#!/bin/sh
# Initialise Vault once, keep keys and token in the secret vault-init, and unseal all five replicas. Talks to kubectl's current context. Safe to
# repeat: what is initialised or unsealed already stays so. Keys travel on standard input, never as arguments.
set -eu
umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! kubectl -n vault get secret vault-init >/dev/null 2>&1; then
  kubectl -n vault exec vault-0 -- vault operator init -format=json >"$folder/init.json"
  jq -j .root_token "$folder/init.json" >"$folder/root-token"
  jq -r '.unseal_keys_b64[:3][]' "$folder/init.json" >"$folder/unseal-keys"
  kubectl -n vault create secret generic vault-init --from-file="$folder/root-token" --from-file="$folder/unseal-keys"
fi

kubectl -n vault get secret vault-init -o 'jsonpath={.data.unseal-keys}' | base64 -d >"$folder/keys"
for replica in 0 1 2 3 4; do
  while read -r key; do
    printf '%s\n' "$key" | kubectl -n vault exec -i "vault-$replica" -- sh -c 'read -r key; vault operator unseal "$key"' >/dev/null
  done <"$folder/keys"
done
