"""sysbench, CPU, memory, files and threads."""
