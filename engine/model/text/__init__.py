"""Reading text that others wrote: JSON of any shape, patterns of a spec, numbers."""
