"""What kernels are put together of: objects, loops, indices, accesses."""
