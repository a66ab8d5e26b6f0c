"""What a session remembers of values in its memory, beside what its commands do."""
