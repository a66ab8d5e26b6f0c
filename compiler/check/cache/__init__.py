"""Compiled models with their references, kept on disk: a model that is checked again as it was is not compiled again."""
