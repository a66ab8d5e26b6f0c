"""Operators of Relax that TVM computes by kernels written for threads, in NumPy: sorts, scans and samples without rounding."""
