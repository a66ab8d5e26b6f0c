"""The bits of a value of each lane as a value of another type: elements are cut into shorter ones, or several are joined."""

from __future__ import annotations

from ...ir import ir, llvm_types
from .emitter import VectorEmitter
from .lane_access.words import join_word, split_word


def emit_reinterpreted(e: VectorEmitter, parts: list[str], source: ir.Type, target: ir.Type) -> list[str] | None:
    """Returns the elements of type `target` whose bits are those of `parts`, the elements of type `source`. None, with nothing
    emitted, where no element of one consists of whole elements of the other."""
    old, new = llvm_types.elem_of(source), llvm_types.elem_of(target)
    if not isinstance(old, (ir.Int, ir.Float)) or not isinstance(new, (ir.Int, ir.Float)) or min(old.bits, new.bits) < 8:
        return None
    if old.bits % new.bits == 0:
        word = ir.Int(old.bits)
        wholes = [_cast(e, part, old, word) for part in parts]
        return [part for whole in wholes for part in split_word(e, whole, word, new, old.bits // new.bits)]
    if new.bits % old.bits == 0:
        word, count = ir.Int(new.bits), new.bits // old.bits
        groups = [parts[first : first + count] for first in range(0, len(parts), count)]
        return [_cast(e, join_word(e, group, word, old), word, new) for group in groups]
    return None


def _cast(e: VectorEmitter, part: str, old: ir.Type, new: ir.Type) -> str:
    return part if old == new else e.body.op(f"bitcast {e.lanes.spelled(old)} {part} to {e.lanes.spelled(new)}")
