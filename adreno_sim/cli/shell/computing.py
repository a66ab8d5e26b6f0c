"""The commands that compute in their own process, which other parts of the start ask for without importing any command."""

COMPUTING = (
    "bundle", "check", "doctor", "footprint", "init", "kernel", "layers", "precision", "replay", "reproduce", "scopes", "tune",
)  # fmt: skip
"""Commands that load a model, or run kernels, in the process that reads their options."""
