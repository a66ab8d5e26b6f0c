"""Many checks at once: every model on every device for every target, resumable, each in a process of its own."""
