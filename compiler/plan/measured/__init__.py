"""What a run of a model under a plan gives: the memory that it takes, and the time of each step."""
