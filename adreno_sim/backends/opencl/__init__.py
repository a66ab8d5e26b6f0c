"""Real OpenCL devices through pyopencl: the same Device protocol as the simulator's."""

from .open import open_opencl

__all__ = ["open_opencl"]
