"""Recorded sessions: what a client asked of the device, in a file that is run again without the client."""
