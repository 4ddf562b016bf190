"""diskspd, a disk benchmark for Windows."""
