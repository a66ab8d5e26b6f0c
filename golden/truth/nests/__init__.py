"""Loops around statements: which of them run together, and in which order; the forms in which they are fast."""
