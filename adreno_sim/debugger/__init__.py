"""The debugger: a launch that can be stopped, looked at, and run backwards; in a terminal, or as a debug adapter."""
