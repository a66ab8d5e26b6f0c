"""Runs a compiled model on a device."""
