"""Which runs there were, and how their results went on: an index made of run directories."""
