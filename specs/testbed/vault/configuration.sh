#!/bin/sh
# Print Vault's configuration for REPLICAS servers that find each other by name; a server's own names come in its environment.
set -eu
cat <<HCL
disable_mlock = true
ui            = false
log_level     = "warn"
listener "tcp" {
  address         = "0.0.0.0:8200"
  cluster_address = "0.0.0.0:8201"
  tls_cert_file   = "/vault/tls/tls.crt"
  tls_key_file    = "/vault/tls/tls.key"
  tls_min_version = "tls13"
}
storage "raft" {
  path = "/vault/data"
HCL
number=0
while [ "$number" -lt "$REPLICAS" ]; do
  cat <<HCL
  retry_join {
    leader_api_addr       = "https://vault-$number.vault-internal:8200"
    leader_ca_cert_file   = "/vault/tls/ca.crt"
    leader_tls_servername = "vault-$number.vault-internal"
  }
HCL
  number=$((number + 1))
done
cat <<HCL
}
service_registration "kubernetes" {}
HCL
