"""The layers of a model for people."""
