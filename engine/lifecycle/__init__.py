"""Targets that are brought up and taken down."""
