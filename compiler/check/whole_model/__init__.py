"""A whole model on inputs: which inputs it is judged on, and what other implementations make of them."""
