"""The report of one launch."""
