"""What is made in a cluster beside pods: volumes, Services, routes, the namespace and its lock."""
