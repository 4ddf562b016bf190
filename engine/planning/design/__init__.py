"""What a design can show, and what would make it weak."""
