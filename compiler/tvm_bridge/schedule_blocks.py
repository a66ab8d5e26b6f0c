"""The blocks of a function that TVM schedules: which there are, what their axes are, what they write."""

from __future__ import annotations

from typing import Any

from .read import BufferInfo, buffer_info


def iter_kinds(sch: Any, block: Any) -> str:
    """A letter per iteration variable of a block: S spatial, R reduction, O other."""
    letters = {0: "S", 2: "R"}
    return "".join(letters.get(int(var.iter_type), "O") for var in sch.get(block).iter_vars)


def is_reduction(sch: Any, block: Any) -> bool:
    """Whether the block sums, or takes a maximum, over an axis."""
    return "R" in iter_kinds(sch, block)


def blocks_of(sch: Any) -> list[Any]:
    """The blocks below the root, in order; none of a function without a root, which no schedule can take apart."""
    outermost = getattr(sch.mod["main"].body, "block", None)
    if outermost is None or str(outermost.name_hint) != "root":
        return []
    return list(sch.get_child_blocks(sch.get_sblock("root")))


def written_buffer(sch: Any, block: Any) -> BufferInfo:
    """The buffer a block writes."""
    region = sch.get(block).writes[0]
    return buffer_info(region.buffer if hasattr(region, "buffer") else region.source)
