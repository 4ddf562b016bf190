"""wrk, an HTTP load generator."""
