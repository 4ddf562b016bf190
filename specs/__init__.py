"""Ready-made specs, shipped with the package."""
