"""On-chip global memory in a plan: which tensors may be there, where they then lie, and the recordings that keep them."""
