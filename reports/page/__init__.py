"""What a page says: rows and sections made from a run and its analysis."""
