"""fortio, an HTTP load generator."""
