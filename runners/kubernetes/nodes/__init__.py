"""What is seen of nodes: their facts, networks and meshes."""
