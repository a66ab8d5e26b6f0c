"""A device whose memory may be in the caller's: what it only reads need not be copied for it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from ..base.specs import Storage


@runtime_checkable
class Borrower(Protocol):
    """A device that can take memory of the caller's for its own."""

    def borrow(self, array: np.ndarray) -> Storage | None:
        """Storage whose contents are the elements of an array, to be read only, until it is freed; None if that cannot be.
        Errors as of `Device.allocate`."""
        ...


def lend(device: object, array: np.ndarray) -> Storage | None:
    """Returns storage of the device over an array; None for a device that does not borrow, or not such an array."""
    return device.borrow(array) if isinstance(device, Borrower) else None
