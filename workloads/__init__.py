"""Workloads: one module per tool. Raw bytes in, numbers out; no I/O."""
