"""The calls of a client: where they come from, and which launches are checked."""
