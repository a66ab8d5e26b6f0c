"""What is kept of kernels: in memory for as long as the process lives, and on disk."""
