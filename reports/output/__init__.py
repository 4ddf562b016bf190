"""Pages, exports and docs pages as files."""
