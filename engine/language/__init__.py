"""The spec language: from a file to a checked model, with every problem at its line."""
