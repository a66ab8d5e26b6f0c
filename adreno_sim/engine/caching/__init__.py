"""Caches of what is known of kernels: in memory for the life of the process, and on disk."""
