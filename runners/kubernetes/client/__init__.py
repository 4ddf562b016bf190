"""Requests to a cluster's API and to what answers through it."""
