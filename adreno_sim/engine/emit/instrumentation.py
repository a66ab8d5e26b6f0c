"""Instrumentation callbacks: emitters call them around the code of a work-item, or of a vector of them.

The base class adds no code, as levels "off" and "bounds" and library functions need. At level full each check (`check.py`)
implements the callbacks that it needs, and an `InstrumentationList` calls them one after the other. Pointers and coordinates
passed here are in bounds, and the access itself is emitted after the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...ir import ir

if TYPE_CHECKING:
    from ...ir.provenance import Ptr
    from ..llvm.text import Text
    from .image_refs import ImageRef
    from .pointers import LanePtr


class Instrumentation:
    """Callbacks that add no code.

    A value that may be undefined has a further part besides its operand: the mask of its undefined bits.
    """

    def before_instr(self, instr: ir.Instr) -> None:
        """Is called before every instruction, terminators and synchronisation points included."""

    def on_item(self) -> None:
        """Is called where a work-item enters a region of scalar code, when its ids are known."""

    def mask_types(self, value: ir.Value) -> list[str]:
        """Returns the LLVM types of the further parts of a value."""
        return []

    def masks(self, value: ir.Value, like: ir.Value | None = None) -> list[str]:
        """Returns the operands of the further parts, in the form that `like` (default: the value) has."""
        return []

    def bind(self, instr: ir.Instr, masks: Sequence[str]) -> None:
        """Binds the further parts of `instr`, as a phi or a reload yields them."""

    def forget(self, instr: ir.Instr) -> None:
        """Drops the masks of `instr`, which are in its stack slots from now on."""

    def on_end(self) -> None:
        """Is called when the code of the region is complete, except for what the check still has to add."""

    def undefined_flags(self, type: ir.Type) -> str:
        """Returns which lanes of the current instruction's result are undefined, if they are like those of `type`; else ""."""
        return ""

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        """Precedes a load of `type` into the lanes of `instr`. None means that every lane counts as used."""

    def after_load(self, instr: ir.Instr | None) -> None:
        """Follows the load of `instr`, also if it was out of bounds."""

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        """Precedes a store of `operand`, made lane by lane from `value`. None means that it is defined."""

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        """Precedes an atomic operation."""

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        """Precedes a copy, or a fill if there is no source."""

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        """Precedes a write of `nbytes` bytes by the current instruction, which are defined if its operands are."""

    def on_image_read(self, image: ImageRef, where: Sequence[str], offset: str, instr: ir.Instr | None) -> None:
        """Precedes a read of the texel at byte `offset` of the image."""

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        """Precedes a write of `operand`, in its stored form, to the texel at byte `offset` of the image."""

    def on_alloca(self, variable: ir.Instr) -> None:
        """Is called when a work-item starts, for each private variable it allocates."""

    def on_note(self, instr: ir.Instr) -> None:
        """Is called where a variable is assigned or declared, in a build for the debugger."""

    def on_report(self, t: Text, site: int) -> None:
        """Is called in the cold code behind the report of a diagnostic site."""

    def on_undefine(self, variable: ir.Instr) -> None:
        """Is called where a private variable is declared again without a value, for the work-item or all lanes at work."""

    # All lanes of a vector of work-items at once; `mask`: those that make the access, None for all

    def on_vector_load(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        """Precedes a load of `count` consecutive elements per lane, from the private `variable` or from other memory."""

    def on_vector_store(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        """Precedes a store of `count` consecutive elements per lane."""

    def on_vector_copy(
        self, there: LanePtr, variable: ir.Instr, where: LanePtr, source: ir.Instr, elem: ir.Int, mask: str | None
    ) -> None:
        """Precedes a copy of one element per lane, from one private variable to another of the same layout."""

    def on_vector_fill(self, variable: ir.Instr) -> None:
        """Precedes a write of a whole private variable by all lanes."""

    def on_vector_image_read(self, image: ImageRef, where: Callable[[str], LanePtr], mask: str | None) -> None:
        """Precedes a read of one texel per lane. `where(base)` returns their addresses in an image at `base`."""

    def on_vector_image_write(self, image: ImageRef, where: Callable[[str], LanePtr], mask: str | None) -> None:
        """Precedes a write of one texel per lane."""


_OF_MASKS = ("mask_types", "masks", "bind", "forget", "undefined_flags")
"""The callbacks on masks. They are those of the one check that has any."""


class InstrumentationList(Instrumentation):
    """The callbacks of several checks: each calls those that define it, in their order. One of them at most has masks: values
    have one mask."""

    def __init__(self, parts: Sequence[Instrumentation]):
        masking = [part for part in parts if type(part).mask_types is not Instrumentation.mask_types]
        if len(masking) > 1:
            raise ValueError(f"expected at most one check with masks, got {[type(part).__name__ for part in masking]}")
        for name, empty in vars(Instrumentation).items():
            if not name.startswith("_"):
                asked = masking if name in _OF_MASKS else [p for p in parts if getattr(type(p), name) is not empty]
                if asked:
                    setattr(self, name, _call_each([getattr(part, name) for part in asked]))


def _call_each(callbacks: list[Callable[..., Any]]) -> Callable[..., Any]:
    """Returns a function that calls all of several, with the same arguments; of one, that one."""
    if len(callbacks) == 1:
        return callbacks[0]

    def call(*args: object, **named: object) -> None:
        for callback in callbacks:
            callback(*args, **named)

    return call
