"""The protocols that workloads and runners satisfy, and the values they exchange."""
