"""Fixes of single kernels: their threads, their local memory, the functions that they call."""
