"""C functions that kernels' machine code calls, and what makes LLVM text of them."""
