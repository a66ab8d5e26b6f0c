"""Shadows of arguments at level full: which arguments of a launch need one, and where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....engine.abi.bound import BoundBuffer, BoundImage
from ....engine.abi.specialization import ShadowSpec
from ....engine.run.launch_analysis import LaunchAnalysis
from ....engine.shadow.argument_cells import cells_of_block
from ....memory.storage import MemoryBlock, StorageView
from ....records import dataclass
from .cell_memory import CellMemory

_LAST_EPOCH = 1 << 31


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
    def cell_count(self) -> int:
        return -(-(self.high - self.low) // self.spec.granularity) if self.spec.cell_words else 0


class Shadows:
    """Race cells of a device's launches, which share one memory: cells of earlier launches have earlier epochs."""

    def __init__(self) -> None:
        self.cells = CellMemory()
        self.epoch = 1

    def lay_out(self, analysis: LaunchAnalysis, args: Sequence[Any], whole: bool = False) -> dict[int, ShadowRange]:
        """Returns the shadow range of each view argument that needs one, by position: one that may change, or one with a byte
        that is not initialised. Views of one block share a range. whole: as if every byte were initialised."""
        views = {index: arg for index, arg in enumerate(args) if isinstance(arg, StorageView)}
        blocks: dict[MemoryBlock, list[int]] = {}
        for index, view in views.items():
            blocks.setdefault(view.block, []).append(index)
        ranges: dict[int, ShadowRange] = {}
        for indices in blocks.values():
            changes = not analysis.changed.isdisjoint(indices)
            needed = [index for index in indices if changes or not (whole or views[index].block.is_whole(views[index]))]
            if needed:
                ranges.update(dict.fromkeys(needed, _range_of(analysis, {index: views[index] for index in indices}, changes)))
        return ranges

    def bind(
        self, ranges: dict[int, ShadowRange], views: Sequence[Any], bound: Sequence[Any], global_size: Sequence[int]
    ) -> list[Any]:
        """Returns the engine's arguments with the addresses of their shadows."""
        self._place_cells(list({id(shadow_range): shadow_range for shadow_range in ranges.values()}.values()), global_size)
        return [
            _bind_shadow(arg, views[index], ranges[index]) if index in ranges else arg for index, arg in enumerate(bound)
        ]  # fmt: skip

    def after(self, last_epoch: int, ranges: dict[int, ShadowRange], views: Sequence[Any], marked: bool) -> None:
        """Ends a launch: later ones begin after `last_epoch`, and blocks it wrote lose their cached definedness. marked: it
        marked what it wrote, also of views that it writes whole."""
        for index, shadow_range in ranges.items():
            if shadow_range.written:
                views[index].block.forget()
            if shadow_range.spec.written_whole and not marked:
                views[index].block.note_whole(views[index])
        self.epoch = max(self.epoch, last_epoch) + 1
        if self.epoch >= _LAST_EPOCH:
            self.cells.clear()
            self.epoch = 1

    def _place_cells(self, ranges: Sequence[ShadowRange], global_size: Sequence[int]) -> None:
        counts = [shadow_range.cell_count for shadow_range in ranges]
        sizes = [count * shadow_range.spec.cell_words * 8 for count, shadow_range in zip(counts, ranges, strict=True)]
        self.cells.take(sum(sizes), sum(counts), global_size)
        at = self.cells.address
        for size, shadow_range in zip(sizes, ranges, strict=True):
            shadow_range.cells_at = at
            at += size


def _range_of(analysis: LaunchAnalysis, views: dict[int, StorageView], changes: bool) -> ShadowRange:
    """Returns the range of a block that holds these views and no others of the launch."""
    if len(views) == 1:
        ((index, view),) = views.items()
        return ShadowRange(_start(view), _start(view) + _extent(view), analysis.cells[index], changes)
    low, high = min(map(_start, views.values())), max(_start(view) + _extent(view) for view in views.values())
    return ShadowRange(low, high, cells_of_block(analysis.kernel, analysis.spec.args, views), changes)


def _bind_shadow(arg: BoundBuffer | BoundImage, view: StorageView, shadow_range: ShadowRange) -> BoundBuffer | BoundImage:
    block, start = view.block, _start(view)
    cells = shadow_range.cells_at + (start - shadow_range.low) // shadow_range.spec.granularity * shadow_range.spec.cell_words * 8
    marks = block.address_of_marks(view if shadow_range.spec.written_whole else None)
    return replace(arg, valid=marks + start, cells=cells)


def _start(view: StorageView) -> int:
    """Returns where a view begins in its block, in bytes."""
    return 0 if view.separate else view.offset


def _extent(view: StorageView) -> int:
    """Returns the bytes from the start of a view to its end, padding included."""
    return view.layout.nbytes if view.layout is not None else view.nbytes
