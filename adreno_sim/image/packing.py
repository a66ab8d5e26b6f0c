"""Dense arrays to pitched images and back: an array over the image's own bytes, so that NumPy copies whole rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .formats import Format
from .layout import Layout


def texel_array(memory: NDArray[np.uint8], layout: Layout, texels: Format, offset: int = 0) -> NDArray:
    """The texels at `offset` bytes into `memory` as a writable array (layers, height, width, channels) of the stored dtype.

    No bytes are copied; the padding between rows and layers is not part of the array. `memory` must hold
    offset + layout.nbytes bytes.
    """
    if memory.nbytes < offset + layout.nbytes:
        raise ValueError(f"memory of {memory.nbytes} bytes: expected at least {offset + layout.nbytes}")
    return np.ndarray(
        (layout.layers, layout.height, layout.width, texels.channels),
        texels.dtype,
        memory.data,
        offset,
        (layout.slice_pitch, layout.row_pitch, layout.texel_bytes, texels.dtype.itemsize),
    )
