"""Counters of kernels for people."""
