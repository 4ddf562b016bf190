"""redis-benchmark, commands to a Redis server."""
