"""One step of a lifecycle: where, with what, how often, and what became of it."""
