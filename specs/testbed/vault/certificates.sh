#!/bin/sh
# An authority for this run and a certificate of Vault's names, in the Secret vault-tls. Keys lie in a private directory for as long as this takes.
# Safe to repeat.
set -eu
umask 077
filled=$(kubectl get secret vault-tls --output=json | jq 'has("data")')
case $filled in
true) exit 0 ;;
false) ;;
*) echo "the Secret vault-tls cannot be seen" >&2; exit 1 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP
cd "$folder"
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

new_key ca.key
openssl req -x509 -new -key ca.key -subj /CN=vault-testbed -days 7 -out ca.crt
new_key tls.key
openssl req -new -key tls.key -subj /CN=vault -out tls.csr
echo 'subjectAltName=DNS:vault-active,DNS:vault-standby,DNS:*.vault-internal,IP:127.0.0.1' >extensions
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 7 -extfile extensions -out tls.crt 2>openssl.log
kubectl create secret generic vault-tls --from-file=tls.key --from-file=tls.crt --from-file=ca.crt --dry-run=client --output=json >secret.json
jq '{data}' secret.json >patch.json
kubectl patch secret vault-tls --patch-file=patch.json
