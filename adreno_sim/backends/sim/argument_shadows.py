"""Shadows of arguments at level full: which arguments of a launch need one, and where it lies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...base.errors import UnsupportedError
from ...base.host_memory import available_bytes
from ...engine.abi.bound import BoundBuffer, BoundImage
from ...engine.abi.specialization import ArgSpec, BufferArg, ImageArg, ShadowSpec
from ...engine.run.aligned_memory import zeroed_aligned
from ...engine.shadow.granularity import Granularities, argument_granularities
from ...ir import ir
from ...memory.storage import Block, StorageView
from .program import SimKernel

_LAST_EPOCH = 1 << 31
_LARGE = 64 << 20  # bytes from which on the host is asked first: what it cannot back kills the process when touched


@dataclass
class ShadowRange:
    """Bytes [low, high) of a block that views of one launch use, what is recorded of them, and whether the launch may write
    them."""

    low: int
    high: int
    spec: ShadowSpec
    written: bool
    cells_at: int = 0

    @property
    def cell_bytes(self) -> int:
        return -(-(self.high - self.low) // self.spec.granularity) * self.spec.cell_words * 8


class Shadows:
    """Race cells of a device's launches, which share one memory: cells of earlier launches have earlier epochs."""

    def __init__(self) -> None:
        self._cells: np.ndarray = np.zeros(0, np.uint8)
        self._address = 0
        self.epoch = 1

    def lay_out(
        self,
        kernel: SimKernel,
        args: Sequence[Any],
        single_writer: Collection[int] = (),
        unaliased: Mapping[int, ShadowSpec] = MappingProxyType({}),
    ) -> dict[int, ShadowRange]:
        """Returns the shadow range of each view argument that needs one, by position.

        `single_writer`: arguments that need no race cells unless they share a block with another one. `unaliased`: the result
        of `unaliased_specs`.
        """
        granularities = argument_granularities(kernel.function)
        views = {index: arg for index, arg in enumerate(args) if isinstance(arg, StorageView)}
        blocks: dict[Block, list[int]] = {}
        for index, view in views.items():
            blocks.setdefault(view.block, []).append(index)
        ranges: dict[int, ShadowRange] = {}
        for indices in blocks.values():
            known = unaliased.get(indices[0]) if len(indices) == 1 else None
            spec = known or _shadow_spec(kernel, granularities, {index: views[index] for index in indices})
            written = bool(spec.cell_words)
            if len(indices) == 1 and indices[0] in single_writer:
                spec = ShadowSpec(0, spec.granularity)
            if len(indices) == 1:  # as below, in half the time: a tenth of a short launch
                view = views[indices[0]]
                if written or granularities.unknown or not view.block.is_whole(view):
                    ranges[indices[0]] = ShadowRange(_start(view), _start(view) + _extent(view), spec, written)
                continue
            low = min(_start(views[index]) for index in indices)
            shadow_range = ShadowRange(low, max(_start(views[i]) + _extent(views[i]) for i in indices), spec, written)
            for index in indices:
                if written or granularities.unknown or not views[index].block.is_whole(views[index]):
                    ranges[index] = shadow_range
        return ranges

    def bind(self, ranges: dict[int, ShadowRange], views: Sequence[Any], bound: Sequence[Any]) -> list[Any]:
        """Returns the engine's arguments with the addresses of their shadows."""
        self._place_cells({id(shadow_range): shadow_range for shadow_range in ranges.values()}.values())
        return [
            _bind_shadow(arg, views[index], ranges[index]) if index in ranges else arg for index, arg in enumerate(bound)
        ]  # fmt: skip

    def after(self, last_epoch: int, ranges: dict[int, ShadowRange], views: Sequence[Any]) -> None:
        """Ends a launch: later ones begin after `last_epoch`, and blocks it wrote lose their cached definedness."""
        for index, shadow_range in ranges.items():
            if shadow_range.written:
                views[index].block.forget()
        self.epoch = max(self.epoch, last_epoch) + 1
        if self.epoch >= _LAST_EPOCH:
            self._cells.fill(0)
            self.epoch = 1

    def _place_cells(self, ranges: Any) -> None:
        total = sum(shadow_range.cell_bytes for shadow_range in ranges)
        if total > self._cells.nbytes:
            self._cells, self._address = np.zeros(0, np.uint8), 0
            self._cells, self._address = _cells(total)
        at = self._address
        for shadow_range in ranges:
            shadow_range.cells_at = at
            at += shadow_range.cell_bytes


def unaliased_specs(kernel: SimKernel, args: Sequence[Any]) -> dict[int, ShadowSpec]:
    """Returns what must be recorded of each view argument, if no other argument shares its block."""
    granularities = argument_granularities(kernel.function)
    return {
        index: _shadow_spec(kernel, granularities, {index: arg}) for index, arg in enumerate(args) if isinstance(arg, StorageView)
    }


def _cells(nbytes: int) -> tuple[np.ndarray, int]:
    """Returns memory for race cells. Raises UnsupportedError if the host has too little."""
    left = available_bytes() if nbytes > _LARGE else None
    try:
        if left is None or nbytes < left:
            return zeroed_aligned(nbytes)
    except MemoryError:
        left = None
    what = f"level full needs {nbytes} bytes to watch the buffers of this launch for races"
    raise UnsupportedError(f"unsupported: {what}, the host has {'no more' if left is None else left}; see --checks")


def _bind_shadow(arg: BoundBuffer | BoundImage, view: StorageView, shadow_range: ShadowRange) -> BoundBuffer | BoundImage:
    block, start = view.block, _start(view)
    cells = shadow_range.cells_at + (start - shadow_range.low) // shadow_range.spec.granularity * shadow_range.spec.cell_words * 8
    return replace(arg, valid=block.valid_address + start, cells=cells)


def with_shadow(spec: ArgSpec, shadow_range: ShadowRange | None) -> ArgSpec:
    """Returns what the machine code must know of an argument, including its shadow."""
    if shadow_range is None or not isinstance(spec, (BufferArg, ImageArg)):
        return spec
    return replace(spec, shadow=shadow_range.spec)


def _start(view: StorageView) -> int:
    """Returns where a view begins in its block, in bytes."""
    return 0 if view.separate else view.offset


def _extent(view: StorageView) -> int:
    """Returns the bytes from the start of a view to its end, padding included."""
    return view.layout.nbytes if view.layout is not None else view.nbytes


def _shadow_spec(kernel: SimKernel, granularities: Granularities, views: dict[int, StorageView]) -> ShadowSpec:
    """Returns what must be recorded of a block that these views lie in."""
    granularity = min(_view_granularity(granularities, index, view) for index, view in views.items())
    if granularities.unknown:
        return ShadowSpec(4, granularity)
    if not any(map(kernel.writes, views)):
        return ShadowSpec()
    return ShadowSpec(4 if any(_reads(kernel, granularities, index) for index in views) else 1, granularity)


def _view_granularity(granularities: Granularities, index: int, view: StorageView) -> int:
    if view.format is None:
        return granularities.of(("param", index))
    texel = view.format.texel_bytes & -view.format.texel_bytes
    return min(texel, granularities.least) if granularities.unknown else texel


def _reads(kernel: SimKernel, granularities: Granularities, index: int) -> bool:
    type = kernel.function.params[index].type
    return type.access != "write_only" if isinstance(type, ir.Image) else ("param", index) in granularities.read
