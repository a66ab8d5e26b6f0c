"""Colours of sRGB images: linear in kernels, on the sRGB curve in memory (OpenCL C 3.0, section 8.3.1).

A read looks up the byte in a table; a write (`runtime/srgb.c`) searches for the byte whose range contains the value, so both
yield the nearest value. Alpha is linear.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...ir import ir
from ..emit.emitter import Emitter
from ..emit.unit import Unit
from ..llvm import constants

COMPONENTS = "rgb"
"""Those on the curve."""


def to_linear(byte: float) -> float:
    """Returns the value of a stored byte, 0 to 1."""
    value = byte / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def lower_edge(byte: int) -> float:
    """Returns the smallest float that is nearer to `byte` (1 to 255) than to the byte below."""
    exact = to_linear(byte - 0.5)
    nearest = np.float32(exact)
    return float(nearest if float(nearest) >= exact else np.nextafter(nearest, np.float32(1)))


def emit_decode(e: Emitter, byte: str) -> str:
    """Converts a stored byte (i8) to a linear float."""
    index = e.body.op(f"zext i8 {byte} to i64")
    return e.body.op(f"load float, ptr {_element(e, _table(e.unit, '@srgb.linear', map(to_linear, range(256))), index)}, align 4")


def emit_encode(e: Emitter, value: str) -> str:
    """Converts a linear float to the byte (i8) that is stored. NaN and negative values yield 0, values above 1 yield 255."""
    _table(e.unit, "@srgb_edges", map(lower_edge, range(1, 256)))
    return e.body.op(f"call i8 @srgb_encode(float {value})")


def _element(e: Emitter, table: str, index: str) -> str:
    return e.body.op(f"getelementptr float, ptr {table}, i64 {index}")


def _table(unit: Unit, name: str, values: Iterable[float]) -> str:
    if name not in unit.globals:
        items = ", ".join(f"float {constants.number(ir.Float(32), value)}" for value in values)
        count = items.count("float")
        unit.globals[name] = f"{name} = internal constant [{count} x float] [{items}], align 4"
    return name
