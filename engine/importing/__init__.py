"""Run directories made of what other programs measured."""
