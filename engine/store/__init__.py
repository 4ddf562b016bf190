"""The directory of a run: what is written there, and how it is read back."""
