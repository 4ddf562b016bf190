"""What several workloads share: parameters as numbers, names of latencies, units."""
