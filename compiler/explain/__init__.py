"""Why each tensor of a model lies where it does."""
