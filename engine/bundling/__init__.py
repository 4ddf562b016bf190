"""A run directory in one file, and back."""
