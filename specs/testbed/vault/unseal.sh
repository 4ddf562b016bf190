#!/bin/sh
# Initialise Vault once, put root token and unseal keys into the Secret vault-init, and unseal REPLICAS servers. Keys and token pass through pipes
# and this shell's memory alone, never through a file, an argument or the terminal. Vault tells them once and is lost without them: so it is asked
# only when the Secret takes a patch, which is repeated until it is there. Safe to repeat: what is initialised or unsealed already stays so.
set -eu
known() { kubectl get secret vault-init --output=json | jq -e 'has("data")' >/dev/null; }
keep() { kubectl patch secret vault-init --patch-file=/dev/stdin "$@" >/dev/null; }
keys() { kubectl get secret vault-init --output='jsonpath={.data.unseal-keys}' | base64 -d; }
unsealed() { kubectl exec "vault-$1" -- vault status >/dev/null 2>&1; }

if ! known; then
  echo '{"stringData": {"root-token": "-", "unseal-keys": "-"}}' | keep --dry-run=server
  secret=$(kubectl exec vault-0 -- vault operator init -key-shares=5 -key-threshold=3 -format=json |
    jq -e 'if .root_token then . else error("no token") end
      | {stringData: {"root-token": (.root_token + "\n"), "unseal-keys": (.unseal_keys_b64[:3] | map(. + "\n") | add)}}')
  tries=60
  until printf %s "$secret" | keep && known; do # printf is the shell's own: no process has the keys as its argument
    tries=$((tries - 1))
    if [ "$tries" -eq 0 ]; then echo "vault-0 is initialised, and its keys cannot be kept: begin anew" >&2; exit 1; fi
    sleep 1
  done
  unset secret
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
