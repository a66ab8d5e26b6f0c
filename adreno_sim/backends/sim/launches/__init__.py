"""Launches on a simulated device: their configuration, what launches alike share, and how one runs."""
