"""The fields and codes of the language, found and described for `explain`."""
