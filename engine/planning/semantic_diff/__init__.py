"""What a change of a spec means."""
