"""Runners: one module or package per transport."""
