"""Colours, head and switch of every page."""
