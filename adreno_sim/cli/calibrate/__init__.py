"""Measuring a real device as a command."""
