"""The debugger: a launch that can be stopped, inspected, and run backwards; in a terminal, or as a debug adapter."""
