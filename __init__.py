"""benchspec: from a YAML spec to a published page whose sentences its own data support."""

__version__ = "0.1.0"
