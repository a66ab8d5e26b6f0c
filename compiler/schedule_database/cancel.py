"""Staging copies that tuning needs and the model does not: a texture copied into a texture, texel by texel.

While it is tuned a function reads its argument from a flat buffer and stages it in a texture. Where the model gives it a
texture, the stage is a copy of what is there already: it is inlined, which forwards the argument to all who read the copy.
A copy that also pads is not such a copy: its image has other extents, and it stays.
"""

from __future__ import annotations

from typing import Any

from ..tvm_bridge.read import BufferInfo, buffer_info, kind, loaded_buffer
from ..tvm_bridge.schedule_blocks import blocks_of, written_buffer


def cancel_copies(sch: Any) -> list[str]:
    """Forward textures that are only copied; names of the copies' blocks. The schedule must be the one that made them."""
    gone = []
    for block in blocks_of(sch):
        copied = copied_buffer(sch.get(block))
        if copied is not None and copied.scope.startswith("global.texture") and _is_texture(written_buffer(sch, block)):
            gone.append(str(sch.get(block).name_hint))
            sch.compute_inline(block)
    return gone


def staged_params(sch: Any, params: list[BufferInfo]) -> dict[int, int]:
    """{number of the launch: parameter} for each stage that only copies a parameter into a texture.

    Launches are numbered as the stages at the top of the function: each becomes one kernel.
    """
    keys = {info.key: number for number, info in enumerate(params)}
    found = {}
    for number, block in enumerate(blocks_of(sch)):
        if not _is_texture(written_buffer(sch, block)):
            break  # the sum: no stage comes after it
        copied = copied_buffer(sch.get(block))
        if copied is not None and copied.key in keys:
            found[number] = keys[copied.key]
    return found


def copied_buffer(stmt: Any) -> BufferInfo | None:
    """What a block copies element by element to the same place; None if it does anything else."""
    store = stmt.body
    if kind(store) != "BufferStore" or kind(store.value) not in ("BufferLoad", "TensorLoad"):
        return None
    pairs = list(zip(store.indices, store.value.indices, strict=False))
    if len(store.indices) != len(store.value.indices) or not all(a.same_as(b) for a, b in pairs):
        return None
    source, copy = buffer_info(loaded_buffer(store.value)), buffer_info(store.buffer)
    return source if [str(size) for size in source.shape] == [str(size) for size in copy.shape] else None


def _is_texture(info: BufferInfo) -> bool:
    return info.scope.startswith("global.texture")
