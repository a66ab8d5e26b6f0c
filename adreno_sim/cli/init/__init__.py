"""`adreno-sim init`: the first files for a kernel (kernel.py) or a model (model.py, recipes/)."""
