"""Checks every model on every device for every target, each in a process of its own; a sweep can be resumed."""
