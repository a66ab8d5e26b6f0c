"""What an object of TVM's runtime may ask of the machine that it runs in."""

from __future__ import annotations

from typing import Protocol

from ...device.protocol import Device
from ...findings import Finding
from .values import HeapValue, Tensor


class Runtime(Protocol):
    """A machine, as far as objects that keep state on the host use it."""

    @property
    def device(self) -> Device: ...
    def run_function(self, name: str, args: list[Tensor | HeapValue | int | float]) -> None:
        """Run a host function of the model."""

    def state_finding(self, finding: Finding) -> None:
        """Report what is wrong with the object's state."""
