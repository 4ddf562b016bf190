"""What is looked at before, between and after trials."""
