"""Predicted beside measured times of devices that nothing is fitted to: a command for each (docs/time.md)."""
