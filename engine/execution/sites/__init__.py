"""The sites of a run: connected, allocated on, and cleaned."""
