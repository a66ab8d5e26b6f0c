"""Caches of facts about kernels: in memory for the life of the process, and on disk."""
