"""Hosts that are there already, reached over SSH."""
