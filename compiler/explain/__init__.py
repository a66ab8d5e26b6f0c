"""Explains the storage scope of each tensor of a model."""
