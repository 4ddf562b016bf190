"""Any program as a workload."""
