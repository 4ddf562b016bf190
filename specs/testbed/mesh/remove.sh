#!/bin/sh
# Remove the certificates from both clusters. Safe to repeat.
set -eu
kubectl --kubeconfig="$SERVE" delete secret envoy-mtls-serve --ignore-not-found
kubectl --kubeconfig="$LOAD" delete secret envoy-mtls-load --ignore-not-found
