"""What is true of a result, computed by NumPy."""
