"""From a lowered TVM module to a compiled model, which holds no TVM object."""
