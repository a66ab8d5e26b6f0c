"""Four-bit integers, two in a byte: OpenCL C has none, so they are packed when stored and extended by their sign when read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import AdrenoSimError

LEAST, MOST = -8, 7


def pack_int4(array: np.ndarray) -> np.ndarray:
    """int8 of half the innermost extent: element 2i in the low four bits, 2i+1 in the high four.

    array: integers from -8 to 7, innermost extent even. Raises AdrenoSimError for anything else.
    """
    if array.ndim == 0 or array.shape[-1] % 2 or array.dtype.kind not in "iu":
        raise AdrenoSimError(f"int4: expected integers, even in number innermost, got {array.dtype}{list(array.shape)}")
    if array.size and not LEAST <= array.min() <= array.max() <= MOST:
        raise AdrenoSimError(f"int4: expected values from {LEAST} to {MOST}, got {array.min()} to {array.max()}")
    bits = array.astype(np.int8).view(np.uint8) & 0xF
    return (bits[..., 0::2] | bits[..., 1::2] << 4).view(np.int8)


def unpack_int4(packed: np.ndarray) -> np.ndarray:
    """The int8 values that `pack_int4` packed, innermost extent doubled."""
    wide = np.empty((*packed.shape[:-1], packed.shape[-1] * 2), np.int8)
    wide[..., 0::2] = packed.astype(np.int8) << 4 >> 4
    wide[..., 1::2] = packed.astype(np.int8) >> 4
    return wide


def packed_element(byte: Any, position: Any) -> Any:
    """TIR: the value, as int32, of element `position` of an innermost dimension, from the byte that holds it.

    Extended in 32 bits: `(char << 4) >> 4` leaves a char as it is in C, which shifts as int; TVM writes it all the same.
    """
    from tvm import tirx

    wide = byte.astype("int32")
    bits = tirx.if_then_else(position % 2 == 0, wide << tirx.const(28, "int32"), wide << tirx.const(24, "int32"))
    return bits >> tirx.const(28, "int32")


def packed_byte(even: Any, odd: Any) -> Any:
    """TIR: the byte that holds two int8 values; of each, the low four bits."""
    from tvm import tirx

    mask, four = tirx.const(15, "int8"), tirx.const(4, "int8")
    return (even & mask) | (odd << four)
