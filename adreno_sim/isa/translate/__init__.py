"""From kernel IR to NIR: a file for each family of instructions and built-ins."""
