"""iperf3, network throughput."""
