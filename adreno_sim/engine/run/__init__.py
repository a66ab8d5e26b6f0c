"""Runs a launch: compiled kernels, threads, results, and the second run that explains a failed check."""
