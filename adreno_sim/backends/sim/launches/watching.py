"""Stores that are watched: to one element of a view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....base.errors import DeviceError
from ....device.protocol import StoreEvent
from ....memory.storage import StorageView


def find_watched(view: StorageView, element: int) -> tuple[int, int]:
    """Returns the addresses from which and up to which an element lies. DeviceError CL_INVALID_VALUE if there is none."""
    try:
        return view.element_range(element)
    except IndexError as error:
        raise DeviceError("CL_INVALID_VALUE", f"watch: {error}") from None


def with_value(event: StoreEvent, view: StorageView) -> StoreEvent:
    """Returns the event with the element's value in place of its bits."""
    dtype = view.array().dtype
    value = np.frombuffer(int(event.value).to_bytes(8, "little")[: dtype.itemsize], dtype)[0]
    return replace(event, value=value.item())
