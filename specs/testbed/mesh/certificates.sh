#!/bin/sh
# An authority for one session of the mesh, a certificate for each of its sides, and a Secret with it in that side's cluster. SERVE and LOAD are
# their kubeconfigs. Keys lie in a private directory for as long as this takes. Safe to repeat.
set -eu
umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP
cd "$folder"
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

new_key ca.key
openssl req -x509 -new -key ca.key -subj /CN=envoy-mtls -days 7 -out ca.crt
for side in serve load; do
  new_key tls.key
  openssl req -new -key tls.key -subj "/CN=$side.mesh.test" -out tls.csr
  printf 'subjectAltName=DNS:%s.mesh.test\nextendedKeyUsage=serverAuth,clientAuth\n' "$side" >extensions
  openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 7 -extfile extensions -out tls.crt 2>openssl.log
  if [ "$side" = serve ]; then config=$SERVE; else config=$LOAD; fi
  kubectl --kubeconfig="$config" create secret generic "envoy-mtls-$side" --from-file=tls.key --from-file=tls.crt --from-file=ca.crt \
    --dry-run=client -o yaml | kubectl --kubeconfig="$config" apply -f -
done
