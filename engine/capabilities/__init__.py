"""What a plan does beyond measuring in work directories of its own: what is asked for."""
