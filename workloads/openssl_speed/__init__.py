"""openssl speed, cryptography on CPUs."""
