"""Claims of a spec held against what was observed."""
