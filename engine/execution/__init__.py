"""Carrying out a plan: connect, observe, allocate, measure, record, clean up."""
