"""What to do about a memory plan: the tensors at its peak, and what changes to the model would save."""
