"""How long a launch takes on an Adreno: a small physical model of counters, with constants for each machine (docs/time.md)."""
