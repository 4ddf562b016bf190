"""What a spec and its results are: frozen values in base units, errors, codes. No I/O."""
