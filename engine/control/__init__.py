"""Between a run and whoever watches or interrupts it."""
