"""What a launch and its machine code agree on: arguments, context block, specialization, facts."""
