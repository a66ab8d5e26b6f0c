"""The simulated device: `sim:PROFILE[,key=value...]`."""

from .device import SimDevice
from .open import open_sim

__all__ = ["SimDevice", "open_sim"]
