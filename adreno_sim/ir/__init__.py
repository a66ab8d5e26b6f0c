"""Kernel IR: the typed SSA form, its control flow, its invariants, and facts read off it."""
