"""Counted launches: code that counts what each work-item does, and what the work-items of a wave do at once."""
