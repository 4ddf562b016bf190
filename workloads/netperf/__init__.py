"""netperf, network throughput and request rates."""
