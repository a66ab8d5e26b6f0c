"""Errors of layers in narrow types."""
