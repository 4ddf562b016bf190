"""Templates of strangers, rendered without rights."""
