"""The JSON Schemas, shipped as the very bytes the program validates with."""
