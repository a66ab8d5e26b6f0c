"""What the content of a file may decide: options of a run, devices, other files."""
