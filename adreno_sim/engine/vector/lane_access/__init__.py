"""Accesses of all lanes to memory: where the lanes are, and the instructions that serve them."""
