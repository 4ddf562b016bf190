"""Numbers, values and verdicts in words."""
