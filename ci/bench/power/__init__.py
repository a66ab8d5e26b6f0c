"""Kernels with defects that a run-time argument plants, and what the judge of kernels says of them."""
