"""The debugger as a command."""
