"""Other orders of execution of a compiled model, for less memory."""
