"""sockperf, network latency."""
