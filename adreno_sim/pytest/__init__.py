"""What the pytest plugin is made of; imports neither pytest's users nor anything heavy when loaded."""
