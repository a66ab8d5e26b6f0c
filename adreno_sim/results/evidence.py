"""What a page shows beside the words of a report: arrays, calls of a model, tensors of its plan, stores; no part of the JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ..findings import Finding
from ..records import dataclass
from .comparison import find_wrong
from .expected import Expected

MOST_ELEMENTS = 1 << 14
"""Elements kept of one array."""
MOST_ARRAYS = 24
MOST_ELEMENTS_OF_ALL = 1 << 17
"""Elements from which no further array is kept: with what is expected of them, 3 MB of a page."""
MOST_CALLS = 2_000
MOST_TENSORS = 4_000

WIDEST_ROW = 256
"""Elements of the longest row that an array is drawn in."""
PLAIN_ROW = 32
"""Elements of a row where the shape gives none."""


@dataclass(frozen=True)
class ArrayPair:
    """Elements of an array, and what they should be.

    name: of the argument or tensor. kernel: that wrote it. shape: of the whole array, whose flat elements from `first` on are
    kept. row: elements of a row of the picture. texel: channels of an image, 0 for a buffer. wrong: which elements are outside
    their tolerance. expected, wrong: None if nothing is expected.
    """

    name: str
    kernel: str
    shape: tuple[int, ...]
    first: int
    row: int
    texel: int
    got: np.ndarray
    expected: np.ndarray | None = None
    wrong: np.ndarray | None = None

    def holds(self, element: int) -> bool:
        """Whether this flat element of the whole array is kept."""
        return self.first <= element < self.first + self.got.size


@dataclass(frozen=True)
class CallNote:
    """A call of a model, or a launch. name: of the function. operators: of the model, that it does. launches: kernel, global
    size, local size each. reads, writes: names of tensors. host: number of the host's call that a launch is, 0 for none."""

    name: str
    operators: str
    launches: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    host: int = 0


@dataclass(frozen=True)
class TensorNote:
    """A tensor of a memory plan: bytes [offset, offset + size) of a storage, live on [first, last]. base: where the storage
    begins if all lie one behind the other. producer: what writes it, as operators of the model."""

    name: str
    storage: str
    base: int
    offset: int
    size: int
    dense: int
    first: int
    last: int
    shape: tuple[int, ...]
    dtype: str
    scope: str
    producer: str


@dataclass
class Evidence:
    """arrays: of arguments and results. calls: in the order in which they ran. tensors: of the plan, of `planned` bytes. stores:
    to the element of a finding, in order, where a launch was run again for them. cut: sentences on what was left out. launch: the
    one of several launches that it belongs to, as findings name them (`launch` of their detail), "" if there is one."""

    arrays: list[ArrayPair] = field(default_factory=list)
    calls: list[CallNote] = field(default_factory=list)
    tensors: list[TensorNote] = field(default_factory=list)
    planned: int = 0
    stores: list[tuple[Finding, list[dict[str, Any]]]] = field(default_factory=list)
    cut: dict[str, None] = field(default_factory=dict)
    launch: str = ""

    def add_array(
        self,
        name: str,
        kernel: str,
        got: np.ndarray,
        expected: Expected | np.ndarray | None = None,
        tolerance: float | None = None,
        *,
        is_image: bool = False,
        around: int = 0,
    ) -> None:
        """Keep the elements of an array around one of them. expected: of the same shape and type; tolerance: as of `compare`."""
        if not got.size or got.dtype.kind not in "fiub":
            return
        if len(self.arrays) >= MOST_ARRAYS or sum(array.got.size for array in self.arrays) >= MOST_ELEMENTS_OF_ALL:
            self.cut[f"arrays behind the first {len(self.arrays)}"] = None
            return
        wanted = None if expected is None else expected if isinstance(expected, Expected) else Expected(expected)
        wrong = None if wanted is None else find_wrong(got, wanted, tolerance).reshape(-1)
        row = _row_of(got.shape, is_image)
        first = max(0, min(around - MOST_ELEMENTS // 2, got.size - MOST_ELEMENTS)) // row * row
        kept = slice(first, first + MOST_ELEMENTS)
        right = None if wanted is None else (wanted.array if wanted.value is None else wanted.value).reshape(-1)[kept].copy()
        left, texel = got.reshape(-1)[kept].copy(), got.shape[-1] if is_image else 0
        out = None if wrong is None else wrong[kept].copy()
        self.arrays.append(ArrayPair(name, kernel, tuple(got.shape), first, row, texel, left, right, out))

    def add_call(self, call: CallNote) -> None:
        if len(self.calls) < MOST_CALLS:
            self.calls.append(call)
        else:
            self.cut[f"calls behind the first {MOST_CALLS:,}"] = None

    def find_stores(self, finding: Finding) -> list[dict[str, Any]] | None:
        """The stores to the element of a finding, in order; None if nothing recorded them."""
        told = finding.detail.get("stores")
        if isinstance(told, list):
            return told
        if not self.is_about(finding):
            return None
        alike = (stores for one, stores in self.stores if _place_of(one) == _place_of(finding))
        return next(alike, None)

    def is_about(self, finding: Finding) -> bool:
        """Whether a finding is of the launch that this is of."""
        return not self.launch or finding.detail.get("launch") == self.launch

    def find_array(self, name: str, kernel: str) -> int:
        """The number of the array of this argument or tensor; -1 where there is none."""
        found = (n for n, array in enumerate(self.arrays) if array.name == name and array.kernel in ("", kernel))
        return next(found, -1)


def _row_of(shape: Sequence[int], is_image: bool) -> int:
    """Elements of a row: of an image its own, else as many of the last dimensions as make one that can be read."""
    if is_image and len(shape) >= 2:
        return max(1, shape[-1] * shape[-2])
    row = 1
    for size in reversed(shape):
        if row * size > WIDEST_ROW:
            break
        row *= size
        if row >= PLAIN_ROW:
            break
    return row if row > 1 and row < int(np.prod(shape)) else PLAIN_ROW


def find_element(finding: Finding, shape: Sequence[int], itemsize: int) -> int:
    """The flat element of an array that a finding is about: the worst one, or the first that an access touches; -1 where it names
    none of this array. itemsize: bytes of an element."""
    index, access = finding.detail.get("index"), finding.access
    if isinstance(index, (tuple, list)):
        place = tuple(index)
        flat = len(place) == 1
    elif access is None:
        return -1
    elif access.coordinate is not None:
        place, flat = (*reversed(access.coordinate), 0), False
        place = (*(0 for _ in range(len(shape) - len(place))), *place)  # an image is (layers, height, width, channels)
    elif access.offset is not None:
        place, flat = (access.offset // itemsize,), True
    else:
        return -1
    size = int(np.prod(shape))
    if flat:
        return place[0] if 0 <= place[0] < size else -1
    inside = len(place) == len(shape) and all(0 <= at < end for at, end in zip(place, shape, strict=True))
    return int(np.ravel_multi_index(place, tuple(shape))) if inside else -1


def _place_of(finding: Finding) -> tuple[object, ...]:
    return finding.kind, finding.kernel, finding.line, finding.column, finding.access
