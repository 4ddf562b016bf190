#!/bin/sh
# Initialise Vault once, put root token and unseal keys into the Secret vault-init, and unseal REPLICAS servers. Keys and token pass through pipes
# alone, never through a file, an argument or the terminal. Safe to repeat: what is initialised or unsealed already stays so.
set -eu
known() { kubectl get secret vault-init --output=json | jq -e 'has("data")' >/dev/null; }
keys() { kubectl get secret vault-init --output='jsonpath={.data.unseal-keys}' | base64 -d; }
unsealed() { kubectl exec "vault-$1" -- vault status >/dev/null 2>&1; }

if ! known; then
  kubectl exec vault-0 -- vault operator init -key-shares=5 -key-threshold=3 -format=json |
    jq -e 'if .root_token then . else error("no token") end
      | {stringData: {"root-token": (.root_token + "\n"), "unseal-keys": (.unseal_keys_b64[:3] | map(. + "\n") | add)}}' |
    kubectl patch secret vault-init --patch-file=/dev/stdin
  known
fi

number=0
while [ "$number" -lt "$REPLICAS" ]; do
  if ! unsealed "$number"; then
    keys | while read -r key; do
      printf %s "$key" | kubectl exec --stdin "vault-$number" -- vault write sys/unseal key=- >/dev/null
    done
    tries=30 # a server that joins another's storage takes a moment
    until unsealed "$number"; do
      tries=$((tries - 1))
      if [ "$tries" -eq 0 ]; then echo "vault-$number stays sealed" >&2; exit 1; fi
      sleep 1
    done
  fi
  echo "vault-$number is unsealed"
  number=$((number + 1))
done
