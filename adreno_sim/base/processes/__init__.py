"""Separate processes: their start and end, and the facts about one that crashed; interrupts of this process."""
