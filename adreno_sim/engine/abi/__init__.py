"""What a launch and its machine code agree on: argument block, context block, specialization, launch facts."""
