"""What pages of findings draw: arrays element by element, a model's calls, its plan."""
