"""A pod as a host: its manifest, and programs in its containers."""
