"""Lifecycle steps in a cluster: objects of manifests, conditions, charts."""
