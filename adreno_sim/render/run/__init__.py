"""Reports of commands that ran on the simulated driver."""
