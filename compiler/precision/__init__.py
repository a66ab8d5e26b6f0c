"""Mixed precision: how wrong each layer gets in another element type, and which layers to leave unchanged."""
