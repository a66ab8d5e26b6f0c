"""The exit codes of verdicts, and the words that they begin with."""

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_UNSUPPORTED, EXIT_INTERNAL = 0, 1, 2, 3, 4

WORDS = {EXIT_OK: "ok", EXIT_FINDINGS: "findings", EXIT_USAGE: "failed", EXIT_UNSUPPORTED: "unsupported"}
"""The first word of a verdict, by exit code."""
