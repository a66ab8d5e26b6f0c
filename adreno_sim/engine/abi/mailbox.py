"""Mailboxes, at which threads wait for work: their layout, and how long is waited awake."""

CALL, MAILBOX_WORDS = 8, 16
"""A mailbox in 64-bit words: its state, and on a cache line of its own the call (code, context, arguments, private memory)."""
SPINS = 5000
"""How often a thread polls a state, with a pause instruction between, before it sleeps."""
