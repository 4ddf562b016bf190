#!/bin/sh
# Make the transit engine and its two keys in a Vault of version VERSION, a token that may use them and nothing else (into the Secret vault-load, for
# the load generator's proxy), and print what is to be decrypted and verified. The root token passes through pipes and one program's environment in
# Vault's own pod. Safe to repeat.
set -eu
active=$(kubectl get pods --selector=app=vault,vault-active=true --output=name)
vault() { # its standard input is ours, after the token
  { kubectl get secret vault-init --output='jsonpath={.data.root-token}' | base64 -d; cat; } |
    kubectl exec --stdin "$active" -- sh -c 'read -r VAULT_TOKEN; export VAULT_TOKEN; exec vault "$@"' sh "$@"
}

found=$(kubectl exec "$active" -- vault version)
case "$found" in "Vault v$VERSION,"*) ;; *) echo "found $found, expected version $VERSION" >&2; exit 1 ;; esac

vault secrets list -format=json </dev/null | jq -e 'has("transit/")' >/dev/null || vault secrets enable transit </dev/null >/dev/null
vault write -force transit/keys/aes </dev/null >/dev/null
vault write -force transit/keys/rsa type=rsa-2048 </dev/null >/dev/null
vault policy write load - >/dev/null <<'POLICY'
path "transit/encrypt/aes" { capabilities = ["update"] }
path "transit/decrypt/aes" { capabilities = ["update"] }
path "transit/sign/rsa"    { capabilities = ["update"] }
path "transit/verify/rsa"  { capabilities = ["update"] }
POLICY

{ vault token create -policy=load -no-default-policy -orphan -ttl=24h -format=json </dev/null
  kubectl get secret vault-tls --output=json; } |
  jq -s 'if .[0].auth.client_token and .[1].data["ca.crt"] then . else error("no token, or no authority") end
    | {data: {"ca.crt": .[1].data["ca.crt"]},
       stringData: {"token.conf": "proxy_set_header X-Vault-Token \"\(.[0].auth.client_token)\";\n"}}' |
  kubectl patch secret vault-load --patch-file=/dev/stdin >/dev/null
kubectl get secret vault-load --output=json | jq -e '.data | has("token.conf")' >/dev/null

ciphertext=$(vault write -field=ciphertext transit/encrypt/aes plaintext="$PLAINTEXT" </dev/null)
signature=$(vault write -field=signature transit/sign/rsa input="$PLAINTEXT" signature_algorithm=pkcs1v15 </dev/null)
decrypted=$(vault write -field=plaintext transit/decrypt/aes ciphertext="$ciphertext" </dev/null)
valid=$(vault write -field=valid transit/verify/rsa input="$PLAINTEXT" signature="$signature" signature_algorithm=pkcs1v15 </dev/null)
if [ "$decrypted $valid" != "$PLAINTEXT true" ]; then echo "Vault does not get back what it was given" >&2; exit 1; fi
printf '{"ciphertext": "%s", "signature": "%s"}\n' "$ciphertext" "$signature"
