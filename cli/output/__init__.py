"""How the results of verbs are shown."""
