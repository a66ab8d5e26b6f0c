"""The sum that a task is about: which of its loops are tiled, which runs over the lanes of a texel, which are summed."""

from __future__ import annotations

from typing import Any

from ...records import dataclass
from ..schedules.blocks import is_extent
from ..schedules.packed_rule import reads_by_texel
from ..tvm_bridge.read import BufferInfo, buffer_info
from ..tvm_bridge.schedule_blocks import blocks_of, is_reduction, iter_kinds
from ..tvm_bridge.versions import import_tvm

PACKED = ("conv2d_NCHWc_OIHWo", "packed_conv2d")
"""Reduction blocks of convolutions over texels: TVM's operator and this project's."""

PLAIN = ("conv2d_nchw", "group_conv2d_nchw", "conv2d_hwnc", "matmul")
"""Reduction blocks of convolutions in NCHW and HWNC (TVM's and this project's are named alike), and of matrix products."""

LANES = 4


@dataclass(frozen=True)
class Anchor:
    """The only reduction of a function.

    kinds: a letter per loop, S or R. packed: the last spatial loop runs over the four channels of a texel. vectorised: those
    four can be computed as one vector; never of bytes, whose vectors TVM writes as OpenCL C that is ambiguous. shapes and types
    are of the operands, data first.
    """

    name: str
    kinds: str
    packed: bool
    vectorised: bool
    operands: tuple[BufferInfo, ...]
    extents: tuple[int, ...]

    @property
    def spatial(self) -> list[int]:
        return [axis for axis, kind in enumerate(self.kinds) if kind == "S"]

    @property
    def reduced(self) -> list[int]:
        return [axis for axis, kind in enumerate(self.kinds) if kind == "R"]

    @property
    def channels(self) -> int:
        """Extent of the first summed loop: input channels, or the inner dimension of a matrix product."""
        return self.extents[self.reduced[0]]


def find_anchor(sch: Any) -> Anchor | None:
    """The anchor of the schedule's function; None for a function that the space is not for.

    Such are functions without or with several sums, of symbolic sizes, or of operators that it does not know.
    """
    sums = [block for block in blocks_of(sch) if is_reduction(sch, block)]
    if len(sums) != 1:
        return None
    stmt = sch.get(sums[0])
    name = str(stmt.name_hint)
    packed = name in PACKED
    if not packed and name not in PLAIN:
        return None
    kinds = iter_kinds(sch, sums[0])
    extents = [_constant(var.dom.extent) for var in stmt.iter_vars]
    if any(extent is None for extent in extents) or "O" in kinds or kinds != "S" * kinds.count("S") + "R" * kinds.count("R"):
        return None
    operands = tuple(_buffer(region) for region in stmt.reads)
    if len(operands) != 2 or kinds.count("S") < 2:
        return None
    lane = stmt.iter_vars[kinds.rindex("S")]
    if packed and not is_extent(lane.dom.extent, LANES):
        return None
    vectorised = reads_by_texel(sch, sums[0]) if packed else not any(info.dtype.endswith("int8") for info in operands)
    return Anchor(name, kinds, packed, vectorised, operands, tuple(int(extent) for extent in extents if extent is not None))


def _constant(extent: Any) -> int | None:
    return int(extent) if isinstance(extent, import_tvm().tirx.IntImm) else None


def _buffer(region: Any) -> BufferInfo:
    return buffer_info(region.buffer if hasattr(region, "buffer") else region.source)
