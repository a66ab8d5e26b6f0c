"""Machine code of kernels for people."""
