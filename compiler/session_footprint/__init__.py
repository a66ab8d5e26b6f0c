"""What a module with several functions keeps in device memory: weights, the pages of its KV cache, the plan of each function."""
