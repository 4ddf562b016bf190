"""k6, load that JavaScript describes."""
