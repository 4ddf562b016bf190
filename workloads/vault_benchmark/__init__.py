"""vault-benchmark, a load generator for Vault."""
