"""JSON Schemas: fast acceptance, slow explanation, and those of runners and tools."""
