"""The storage scopes of a model."""
