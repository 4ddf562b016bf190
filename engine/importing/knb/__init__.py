"""knb's results in each of its three forms."""
