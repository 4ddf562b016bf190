"""Real Kubernetes clusters on this machine: nodes are sets of Linux namespaces, everything else is
what runs in any data centre.

``with cluster.up("name") as made: ...`` in tests, ``python -m tests.cluster
up|down|status|fault|kubeconfig|build`` by hand.
"""
