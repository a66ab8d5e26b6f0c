"""A compiled model as data: kernels, host program, constants, memory plan; and how it is stored."""
