#!/bin/sh
# A server certificate for Vault, signed by the cluster, as the secret vault-server-tls. Talks to kubectl's current context. Safe to repeat.
set -eu
umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT HUP

kubectl -n vault get secret vault-server-tls >/dev/null 2>&1 && exit 0

names="DNS:vault-active.vault.svc,DNS:*.vault-internal,DNS:*.vault-internal.vault.svc.cluster.local,DNS:vault,DNS:vault.vault.svc,IP:127.0.0.1"
# The kubelet-serving signer insists on this subject; its certificates verify against the cluster's CA, which every pod has.
openssl req -new -newkey rsa:2048 -nodes -keyout "$folder/tls.key" -out "$folder/tls.csr" \
  -subj "/O=system:nodes/CN=system:node:vault.vault.svc" -addext "subjectAltName=$names"

kubectl delete csr benchspec-vault --ignore-not-found
kubectl apply -f - <<REQUEST
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: benchspec-vault}
spec:
  signerName: kubernetes.io/kubelet-serving
  usages: [digital signature, key encipherment, server auth]
  request: $(base64 <"$folder/tls.csr" | tr -d '\n')
REQUEST
kubectl certificate approve benchspec-vault

tries=60
while certificate=$(kubectl get csr benchspec-vault -o 'jsonpath={.status.certificate}') && [ -z "$certificate" ]; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { echo "the cluster did not sign the certificate within a minute" >&2; exit 1; }
  sleep 1
done
printf %s "$certificate" | base64 -d >"$folder/tls.crt"
kubectl -n vault get configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}' >"$folder/ca.crt"
kubectl -n vault create secret generic vault-server-tls --from-file="$folder/tls.crt" --from-file="$folder/tls.key" --from-file="$folder/ca.crt"
