"""Predicted times for people."""
