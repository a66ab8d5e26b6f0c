"""How a server comes to its client: started by the shim, or by fork from a process that was begun beside `adreno-sim run`."""
