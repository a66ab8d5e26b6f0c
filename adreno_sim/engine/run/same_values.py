"""Whether two runs of a launch left the same in memory. What a not-a-number's bits are besides that it is one, is up to the
processor's choice of operands."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from ...ir import ir
from ...ir.mod_ref import written_arguments
from ..abi.bound import Bound, BoundBuffer, BoundImage
from ..abi.specialization import ImageArg, Specialization
from .memory_copies import Range, range_of

_TYPES = {"half": "float16", "HALF_FLOAT": "float16", "float": "float32", "FLOAT": "float32", "double": "float64"}
_NO_NUMBER = {"float16": 0x7E00, "float32": 0x7FC00000, "float64": 0x7FF8 << 48}
"""The bits, less the sign, of what an operation without a result gives. Its sign is LLVM's and the processor's choice, so that it
does not count in any memory: as_uint(0.0f / 0.0f) may be either."""


def written_ranges(kernel: ir.Function, args: Sequence[Bound]) -> list[Range]:
    """Returns the memory of each argument that a kernel may write, and its record of written bytes, which is empty if there is
    none."""
    ranges: list[Range] = []
    for index in sorted(written_arguments(kernel)):
        arg = args[index]
        low, size = range_of(arg)
        marks = arg.valid if isinstance(arg, (BoundBuffer, BoundImage)) else 0
        ranges += [(low, size), (marks, size if marks else 0)]
    return ranges


def has_shared_memory(kernel: ir.Function, args: Sequence[Bound]) -> bool:
    """Returns whether a kernel may write memory that it also has as another argument: what is there is a matter of order, and
    work-items that meet there are no race of one argument's."""
    ranges = {index: range_of(arg) for index, arg in enumerate(args) if isinstance(arg, (BoundBuffer, BoundImage))}
    return any(
        low < other + more and other < low + size
        for index in written_arguments(kernel)
        if index in ranges
        for low, size in [ranges[index]]
        for another, (other, more) in ranges.items()
        if another != index
    )


def find_first_difference(
    kernel: ir.Function,
    spec: Specialization,
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    whole: Collection[int],
) -> str:
    """Returns where two copies of `written_ranges` differ first, as a sentence; "" if nowhere.

    whole: arguments that the first run claims to write whole, and marks nothing of: the second has marked them, if that is so.
    """
    pairs = iter(zip(first, second, strict=True))
    for index in sorted(written_arguments(kernel)):
        name = kernel.params[index].name
        a, b = next(pairs)
        differs = _differing(a, b, _float_type(kernel.params[index], spec.args[index]))
        if len(differs):
            at = int(differs[0])
            shown = " and ".join(bytes(one[at : at + 8]).hex(" ") for one in (a, b))
            return f"{name} differs in {len(differs)} bytes from byte {at} on: {shown}"
        marks, more = next(pairs)
        if index in whole:
            missing = np.flatnonzero(more != 1)
            if len(missing) and not isinstance(spec.args[index], ImageArg):  # between rows of an image nothing is written
                return f"{name} is proven to be written whole, and {len(missing)} bytes from byte {missing[0]} on are not"
        elif len(differs := np.flatnonzero(marks != more)):
            return f"of {name}, other bytes are marked as written: {len(differs)} from byte {differs[0]} on"
    return ""


def _float_type(param: ir.Param, arg: object) -> np.dtype | None:
    """Returns the type of the floats that an argument holds; None for other memory."""
    found = re.search(r"\b(half|float|double)(?:2|3|4|8|16)?\b", param.spelled)
    name = arg.channel_type if isinstance(arg, ImageArg) else found[1] if found else ""
    return np.dtype(_TYPES[name]) if name in _TYPES else None


def _differing(a: np.ndarray, b: np.ndarray, type: np.dtype | None) -> np.ndarray:
    """Returns the numbers of the bytes that differ."""
    differs = a != b
    for name, without_sign in _NO_NUMBER.items() if differs.any() else ():
        if type is None or type == name:
            size = np.dtype(name).itemsize
            room = len(a) // size * size
            x, y = (_is_no_number(one[:room], name, None if type == name else without_sign) for one in (a, b))
            differs[:room] &= ~np.repeat(x & y, size)
    return np.flatnonzero(differs)


def _is_no_number(data: np.ndarray, name: str, without_sign: int | None) -> np.ndarray:
    """Returns which floats of type `name` are not numbers: all such, or those of these bits and any sign."""
    if without_sign is None:
        return np.isnan(data.view(name))
    bits = data.view(f"u{np.dtype(name).itemsize}")
    return (bits & bits.dtype.type(np.iinfo(bits.dtype).max >> 1)) == without_sign
