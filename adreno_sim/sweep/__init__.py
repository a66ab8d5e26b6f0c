"""Checks every model on every device for every target, each in a separate process; a sweep can be resumed."""
