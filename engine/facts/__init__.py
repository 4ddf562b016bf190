"""What is observed of a host: the source command of each fact, and how its answer is read."""
