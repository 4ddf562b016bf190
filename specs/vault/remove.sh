#!/bin/sh
# Remove everything the other steps made, also when they stopped half-way. Talks to kubectl's current context.
set -eu
if helm -n vault status vault >/dev/null 2>&1; then helm -n vault uninstall vault --wait; fi
kubectl -n vault delete pvc --selector app.kubernetes.io/name=vault --ignore-not-found
kubectl delete csr benchspec-vault --ignore-not-found
kubectl -n vault delete secret vault-init vault-server-tls --ignore-not-found
