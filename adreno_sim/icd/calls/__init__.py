"""What is known of the calls of a client: which launches are checked."""
