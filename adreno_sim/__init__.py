"""A simulated Adreno GPU for compiler teams."""

from .device import AdrenoSimError, RunOptions, TensorSpec, open_device

__version__ = "0.1.0"
__all__ = ["AdrenoSimError", "RunOptions", "TensorSpec", "open_device"]
