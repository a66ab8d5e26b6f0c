"""Mesa's ir3 as a library: what runs in the child process. Nothing here is called by the process of the caller."""
