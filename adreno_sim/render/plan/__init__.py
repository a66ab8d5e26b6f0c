"""Memory plans and footprints."""
