"""The debugger as a debug adapter: the Debug Adapter Protocol, as editors speak it."""
