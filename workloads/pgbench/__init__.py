"""pgbench, transactions of a PostgreSQL server."""
