"""The model: runs a kernel in NumPy, and says what is wrong with its accesses."""
