"""What a PrimFunc computes when nothing is rounded, and how far rounding may take a device from it."""
