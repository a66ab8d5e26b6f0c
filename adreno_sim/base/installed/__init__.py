"""What of this project's optional packages is installed, and how the rest gets there."""
