"""Checks a model: every kernel, the whole, the memory plan."""
