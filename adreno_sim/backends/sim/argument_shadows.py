"""Shadows of arguments at level full: which ones a launch needs, and where they lie."""

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
from ...engine.run.aligned_memory import aligned
from ...engine.shadow.granularity import Grains, argument_grains
from ...ir import ir
from ...memory.storage import Block, StorageView
from .program import SimKernel

_LAST_TICK = 1 << 31
_LARGE = 64 << 20  # bytes from which on the host is asked first: what it cannot back kills the process when touched


@dataclass
class Piece:
    """A stretch of a block that views of one launch use, what is recorded of it, and whether the launch may change it."""

    low: int
    high: int
    spec: ShadowSpec
    written: bool
    cells_at: int = 0

    @property
    def cell_bytes(self) -> int:
        return -(-(self.high - self.low) // self.spec.grain) * self.spec.cell_words * 8


class Shadows:
    """Race cells of a device's launches, which share one memory: what a cell holds of an earlier launch has an earlier tick."""

    def __init__(self) -> None:
        self._cells: np.ndarray = np.zeros(0, np.uint8)
        self._address = 0
        self.tick = 1

    def plan(
        self,
        kernel: SimKernel,
        args: Sequence[Any],
        exclusive: Collection[int] = (),
        alone: Mapping[int, ShadowSpec] = MappingProxyType({}),
    ) -> dict[int, Piece]:
        """The piece of each view argument that needs a shadow, by position. `exclusive`: arguments that need no race cells
        unless they share a block with another one. `alone`: what `specs_alone` says of them."""
        grains = argument_grains(kernel.function)
        views = {index: arg for index, arg in enumerate(args) if isinstance(arg, StorageView)}
        blocks: dict[Block, list[int]] = {}
        for index, view in views.items():
            blocks.setdefault(view.block, []).append(index)
        pieces: dict[int, Piece] = {}
        for indices in blocks.values():
            known = alone.get(indices[0]) if len(indices) == 1 else None
            spec = known or _spec(kernel, grains, {index: views[index] for index in indices})
            written = bool(spec.cell_words)
            if len(indices) == 1 and indices[0] in exclusive:
                spec = ShadowSpec(0, spec.grain)
            if len(indices) == 1:  # as below, in half the time: a tenth of a short launch
                view = views[indices[0]]
                if written or grains.unknown or not view.block.is_whole(view):
                    pieces[indices[0]] = Piece(_start(view), _start(view) + _extent(view), spec, written)
                continue
            low = min(_start(views[index]) for index in indices)
            piece = Piece(low, max(_start(views[i]) + _extent(views[i]) for i in indices), spec, written)
            for index in indices:
                if written or grains.unknown or not views[index].block.is_whole(views[index]):
                    pieces[index] = piece
        return pieces

    def bind(self, pieces: dict[int, Piece], views: Sequence[Any], bound: Sequence[Any]) -> list[Any]:
        """Arguments of the engine with the addresses of their shadows."""
        self._place({id(piece): piece for piece in pieces.values()}.values())
        return [
            _bind_shadow(arg, views[index], pieces[index]) if index in pieces else arg for index, arg in enumerate(bound)
        ]  # fmt: skip

    def after(self, last_tick: int, pieces: dict[int, Piece], views: Sequence[Any]) -> None:
        """A launch is over; later ones begin behind its last tick."""
        for index, piece in pieces.items():
            if piece.written:
                views[index].block.forget()
        self.tick = max(self.tick, last_tick) + 1
        if self.tick >= _LAST_TICK:
            self._cells.fill(0)
            self.tick = 1

    def _place(self, pieces: Any) -> None:
        total = sum(piece.cell_bytes for piece in pieces)
        if total > self._cells.nbytes:
            self._cells, self._address = np.zeros(0, np.uint8), 0
            self._cells, self._address = _cells(total)
        at = self._address
        for piece in pieces:
            piece.cells_at = at
            at += piece.cell_bytes


def specs_alone(kernel: SimKernel, args: Sequence[Any]) -> dict[int, ShadowSpec]:
    """What has to be recorded of each view argument that shares its block with no other one."""
    grains = argument_grains(kernel.function)
    return {index: _spec(kernel, grains, {index: arg}) for index, arg in enumerate(args) if isinstance(arg, StorageView)}


def _cells(nbytes: int) -> tuple[np.ndarray, int]:
    """Memory for race cells. Raises UnsupportedError where the host has none for them."""
    left = available_bytes() if nbytes > _LARGE else None
    try:
        if left is None or nbytes < left:
            return aligned(nbytes)
    except MemoryError:
        left = None
    what = f"level full needs {nbytes} bytes to watch the buffers of this launch for races"
    raise UnsupportedError(f"unsupported: {what}, the host has {'no more' if left is None else left}; see --checks")


def _bind_shadow(arg: BoundBuffer | BoundImage, view: StorageView, piece: Piece) -> BoundBuffer | BoundImage:
    block, start = view.block, _start(view)
    cells = piece.cells_at + (start - piece.low) // piece.spec.grain * piece.spec.cell_words * 8
    return replace(arg, valid=block.valid_address + start, cells=cells)


def with_shadow(spec: ArgSpec, piece: Piece | None) -> ArgSpec:
    """What the machine code must know of an argument, with its shadow."""
    if piece is None or not isinstance(spec, (BufferArg, ImageArg)):
        return spec
    return replace(spec, shadow=piece.spec)


def _start(view: StorageView) -> int:
    """Where a view begins in its block."""
    return 0 if view.separate else view.offset


def _extent(view: StorageView) -> int:
    """Bytes from the start of a view to its end, padding included."""
    return view.layout.nbytes if view.layout is not None else view.nbytes


def _spec(kernel: SimKernel, grains: Grains, views: dict[int, StorageView]) -> ShadowSpec:
    """What has to be recorded of a block that these views lie in."""
    grain = min(_grain(grains, index, view) for index, view in views.items())
    if grains.unknown:
        return ShadowSpec(4, grain)
    if not any(map(kernel.writes, views)):
        return ShadowSpec()
    return ShadowSpec(4 if any(_reads(kernel, grains, index) for index in views) else 1, grain)


def _grain(grains: Grains, index: int, view: StorageView) -> int:
    if view.format is None:
        return grains.of(("param", index))
    texel = view.format.texel_bytes & -view.format.texel_bytes
    return min(texel, grains.least) if grains.unknown else texel


def _reads(kernel: SimKernel, grains: Grains, index: int) -> bool:
    type = kernel.function.params[index].type
    return type.access != "write_only" if isinstance(type, ir.Image) else ("param", index) in grains.read
