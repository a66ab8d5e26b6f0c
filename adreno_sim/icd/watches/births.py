"""NaN and infinity that occur in launches of a program: the floats of their arguments before and afterwards tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...backends.sim.program import SimKernel
from ...findings import Finding, Kind
from ...ir.nonfinite_constants import nonfinite_constants
from ...memory.storage import StorageView, as_unsigned, before_access
from ...results.launch_births import find_birth_in_launch, kinds_in

MOST_BYTES = 16 << 20
"""A larger argument that a launch writes is not examined: it would cost more than many launches do."""
_FLOATS = re.compile(r"(half|float)(?:2|3|4|8|16)?")
_PLAIN = re.compile(r"(?:u?char|u?short|u?int|u?long|half|float|double|bool)(?:2|3|4|8|16)?\s*\*")
_DTYPES = {"half": "float16", "float": "float32"}


class LaunchBirths:
    """What is examined of launches of `kernel` with `arguments`. Buffers hold what the kernel's pointers point to; where it has
    others, as to structs, floats may come from anywhere, and nothing is said."""

    def __init__(self, kernel: SimKernel, arguments: tuple[Any, ...]):
        self._kernel = kernel
        self._floats: dict[int, tuple[str, StorageView, str]] = {}
        self._values: list[np.ndarray] = []
        self.left_out: list[str] = []
        is_known = True
        for index, (param, value) in enumerate(zip(kernel.params, arguments, strict=True)):
            if isinstance(value, bytes):
                self._values += _floats_of(value, param.spelled)
            elif isinstance(value, StorageView):
                is_known &= value.layout is not None or bool(_PLAIN.fullmatch(param.spelled))
                dtype = value.array().dtype.name if value.layout is not None else _pointee(param.spelled)
                if np.dtype(dtype).kind == "f":
                    self._floats[index] = param.name, value, dtype
        self._written = [index for index in self._floats if kernel.writes(index)] if is_known else []
        for index in list(self._written):
            name, view, _ = self._floats[index]
            if view.nbytes > MOST_BYTES:
                self._written.remove(index)
                self.left_out.append(f"kernel {kernel.name}: NaN that occurs in {name}, of more than {MOST_BYTES} bytes")
        self._meant = nonfinite_constants(kernel.function) if self._written else ()

    def look_before(self) -> set[str]:
        """Returns what there is of NaN and infinity in what the launch, which is about to run, may write."""
        return kinds_in(self._written_elements(index) for index in self._written)

    def find(self, before: set[str]) -> Iterator[Finding]:
        """After the launch. before: as of `look_before`."""
        given: set[str] | None = None
        for index in self._written:
            name, view, dtype = self._floats[index]
            array = _elements(view, dtype)
            if np.isfinite(array).all():
                continue
            if given is None:
                given = self._kinds_given(before)
            birth = find_birth_in_launch(name, self._kernel.name, array, _are_written(view, dtype), given, self._meant)
            if birth is not None:
                yield Finding(Kind.NONFINITE_INTRODUCED, birth.sentence, self._kernel.name)

    def _kinds_given(self, before: set[str]) -> set[str]:
        """What the launch was given; what it did not write still holds that."""
        only_read = (self._written_elements(index) for index in self._floats if not self._kernel.writes(index))
        return before | kinds_in(only_read) | kinds_in(self._values)

    def _written_elements(self, index: int) -> np.ndarray:
        """The floats of an argument that somebody has written."""
        _, view, dtype = self._floats[index]
        before_access(view)
        array, written = _elements(view, dtype), _are_written(view, dtype)
        return array if written is None else array[written]


def _pointee(spelled: str) -> str:
    found = _FLOATS.match(spelled)
    return _DTYPES[found[1]] if found else "uint8"


def _floats_of(value: bytes, spelled: str) -> list[np.ndarray]:
    found = _FLOATS.fullmatch(spelled)
    if found is None or len(value) % np.dtype(_DTYPES[found[1]]).itemsize:
        return []
    return [np.frombuffer(value, _DTYPES[found[1]])]


def _elements(view: StorageView, dtype: str, memory: np.ndarray | None = None) -> np.ndarray:
    """The elements of a view in its block's bytes, or in its marks, as floats."""
    block = view.block.bytes if memory is None else memory
    if view.layout is not None:
        return view.elements_in(block)
    return np.ndarray((view.nbytes // np.dtype(dtype).itemsize,), dtype, block.data, view.offset)


def _are_written(view: StorageView, dtype: str) -> np.ndarray | None:
    """Which elements somebody has written, with a value that is defined; None for all."""
    if view.block.is_whole(view):
        return None
    marks = view.block.valid
    if marks is None:
        return None
    found = as_unsigned(_elements(view, dtype, marks))
    return found == int.from_bytes(b"\1" * found.itemsize, "little")
