"""What every verdict is made of: exit codes, and findings as JSON."""
