"""stress-ng, synthetic load."""
