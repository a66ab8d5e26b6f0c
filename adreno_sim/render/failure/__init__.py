"""A command without a report: why, in the formats of reports."""
