"""The allocation problem: which tensors need how much memory from when to when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ...base.alignment import align_up
from ...base.errors import AdrenoSimError
from ...base.specs import ImageSpec, TensorSpec
from ...records import dataclass
from ..artifact.plan_check import MAX_BYTES, MAX_TIME, find_wrong_type
from .spans import live_peak

if TYPE_CHECKING:
    from ..artifact.memory_plan import MemoryPlan, PlannedTensor
    from .extract import Size

DEFAULT_DTYPE = "uint8"


@dataclass(frozen=True)
class Item:
    """One tensor to place: `size` bytes (> 0, padding included), live on [start, end), start < end.

    shape, dtype and scope as in TensorSpec; items without a shape are plain bytes. dense: bytes without padding.
    alignment: its address is a multiple of this power of two. left_alone, call, symbolic: as in PlannedTensor.
    recording: the launches [first, last] of the recording inside which it is written and read, so that it may be on the chip; ()
    where there is none. traffic: bytes that its accesses move; each access reads or writes it once.
    """

    id: str
    size: int
    start: int
    end: int
    scope: str = "global"
    dtype: str = DEFAULT_DTYPE
    shape: tuple[int, ...] = ()
    dense: int = 0
    alignment: int = 1
    left_alone: str = ""
    call: tuple[int, ...] = ()
    symbolic: tuple[int, ...] = ()
    recording: tuple[int, ...] = ()
    traffic: int = 0

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise AdrenoSimError(f"tensor {self.id!r}: lifetime [{self.start}, {self.end}): expected an end after the start")
        if not 0 < self.size <= MAX_BYTES:
            raise AdrenoSimError(f"tensor {self.id!r}: size {self.size}: expected 1 to 2^63 - 1 bytes")
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise AdrenoSimError(f"tensor {self.id!r}: alignment {self.alignment}: expected a power of two")
        if max(abs(self.start), abs(self.end), self.alignment) > MAX_TIME:
            raise AdrenoSimError(f"tensor {self.id!r}: lifetime or alignment beyond 2^62")
        if not 0 <= self.dense <= MAX_BYTES:
            raise AdrenoSimError(f"tensor {self.id!r}: dense size {self.dense}: expected 0 to 2^63 - 1 bytes")
        _check_type(self)

    @property
    def is_texture(self) -> bool:
        return self.scope.startswith("global.texture")

    @cached_property
    def extent(self) -> tuple[int, int]:
        """(width, height) in texels of a texture laid out in two dimensions, its layers one below the other."""
        view = TensorSpec(self.shape, self.dtype, self.scope).lower()
        if not isinstance(view, ImageSpec):
            raise AdrenoSimError(f"tensor {self.id!r}: scope {self.scope!r} is not a texture")
        return view.width, view.height * view.depth_or_layers

    @property
    def last(self) -> int:
        """The last instant it is live at."""
        return self.end - 1


@dataclass(frozen=True)
class Problem:
    """Tensors to place, in the order of their definition.

    Invariant: ids differ, every item is valid, and all sizes together fit 2^63 - 1 (AdrenoSimError otherwise).
    texture_size: bytes of a texture under the device's pitch rule; needed by planners that make textures larger.
    max_allocation: the most bytes one allocation may have. order: of steps, as in MemoryPlan, that the lifetimes are of.
    on_chip: bytes of on-chip memory that tensors may be in.
    """

    items: tuple[Item, ...]
    name: str = ""
    texture_size: Size | None = None
    max_allocation: int | None = None
    order: tuple[int, ...] = ()
    on_chip: int = 0

    def __post_init__(self) -> None:
        _check_ids(self.items)
        total = sum(item.size for item in self.items)
        if total > MAX_BYTES:
            raise AdrenoSimError(f"{self._what}: sizes add up to {total} bytes: expected at most 2^63 - 1")
        if self.max_allocation is not None and self.max_allocation < 1:
            raise AdrenoSimError(f"{self._what}: largest allocation {self.max_allocation}: expected at least 1 byte")

    @property
    def _what(self) -> str:
        return f"problem {self.name!r}" if self.name else "problem"

    @property
    def total(self) -> int:
        """Bytes of all items together."""
        return sum(item.size for item in self.items)

    @cached_property
    def unit(self) -> int:
        """The smallest alignment among the items (1 where there are none)."""
        return min((item.alignment for item in self.items), default=1)

    def lower_bound(self, unit: int = 1) -> int:
        """Bytes no plan can do without: the largest sum over time of live sizes, each rounded up to `unit` bytes."""
        return live_peak((item.start, item.end, align_up(item.size, unit)) for item in self.items)

    def dense_bound(self) -> int:
        """The lower bound if no tensor had padding."""
        return live_peak((item.start, item.end, item.dense or item.size) for item in self.items)

    def slot_bytes(self, width: int, height: int, dtype: str) -> int:
        """Bytes of a two-dimensional RGBA texture of `width` x `height` texels under the problem's pitch rule."""
        spec = TensorSpec((height, width, 4), dtype, "global.texture")
        return self.texture_size(spec) if self.texture_size else spec.nbytes


def from_plan(
    plan: MemoryPlan,
    size: Size | None = None,
    *,
    alignment: int = 1,
    max_allocation: int | None = None,
    on_chip: int | None = None,
) -> Problem:
    """The tensors of `plan` that have any bytes as a problem, those that TVM's planner left alone among them.

    on_chip: None = tensors on the chip stay there and are not part of it; else the bytes there are, and they are.

    size: bytes of a tensor under a pitch rule (`extract.row_aligned_size`, `DeviceRules.size`); by default the plan's own.
    alignment: of every address.
    """
    alone = {storage.id: storage.why or "left alone" for storage in plan.storages if not storage.planned}
    sizes = [size(TensorSpec(t.shape, t.dtype, t.scope)) if size else t.right_bytes for t in plan.tensors]
    items = tuple(
        _item(tensor, nbytes, alignment, tensor.left_alone or alone.get(tensor.storage, ""))
        for tensor, nbytes in zip(plan.tensors, sizes, strict=True)
        if nbytes and (on_chip is not None or tensor.storage not in plan.on_chip)
    )
    if on_chip is not None:
        held = {tensor.id: recording for tensor in plan.tensors if (recording := find_recording(tensor, plan.recordings))}
        moved = {tensor.id: tensor.dense_bytes * (1 + len(tensor.reads)) for tensor in plan.tensors}
        items = tuple(replace(item, recording=held.get(item.id, ()), traffic=moved[item.id]) for item in items)
    return Problem(items, plan.function, size, max_allocation, plan.order, on_chip or 0)


def find_recording(tensor: PlannedTensor, recordings: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """The recording inside which a tensor is written first, and then used for the last time; () where there is none."""
    if tensor.written is None or (tensor.read is not None and tensor.read <= tensor.written):
        return ()
    for first, last in recordings:
        if first <= tensor.written and tensor.last <= last:
            return first, last
    return ()


def from_lifetimes(rows: Iterable[tuple[str, int, int, int]], name: str = "", alignment: int = 1) -> Problem:
    """A problem of plain bytes: rows of (id, start, end, size), live on [start, end)."""
    return Problem(tuple(Item(key, size, start, end, alignment=alignment) for key, start, end, size in rows), name)


def _item(tensor: PlannedTensor, nbytes: int, alignment: int, left_alone: str) -> Item:
    return Item(
        id=tensor.id,
        size=nbytes,
        start=tensor.first,
        end=tensor.last + 1,
        scope=tensor.scope,
        dtype=tensor.dtype,
        shape=tensor.shape,
        dense=tensor.dense_bytes,
        alignment=alignment,
        left_alone=left_alone,
        call=tensor.call,
        symbolic=tensor.symbolic,
    )


def _check_type(item: Item) -> None:
    """Anything but plain bytes is a tensor that there can be: of a known dtype, in a known scope."""
    if not item.shape and (item.dtype, item.scope) == (DEFAULT_DTYPE, "global"):
        return
    if wrong := find_wrong_type(item.shape, item.dtype):
        raise AdrenoSimError(f"tensor {item.id!r}: {wrong}")
    try:
        TensorSpec(item.shape, item.dtype, item.scope).lower()
    except AdrenoSimError as error:
        raise AdrenoSimError(f"tensor {item.id!r}: {error}") from None


def _check_ids(items: Sequence[Item]) -> None:
    """One tensor has one lifetime: the same id twice is two lifetimes, which may overlap."""
    seen: dict[str, Item] = {}
    for item in items:
        other = seen.setdefault(item.id, item)
        if other is not item:
            both = f"[{other.start}, {other.end}) and [{item.start}, {item.end})"
            meet = "overlapping" if max(item.start, other.start) < min(item.end, other.end) else "separate"
            raise AdrenoSimError(f"tensor {item.id!r} has two {meet} lifetimes, {both}: expected one")
