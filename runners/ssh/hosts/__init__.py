"""What a run has on a host: its lock, its directories, allocations, leftovers."""
