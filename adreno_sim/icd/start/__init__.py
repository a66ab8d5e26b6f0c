"""How a server comes to its client: started by the shim, or begun beside `adreno-sim run` for the first one."""
