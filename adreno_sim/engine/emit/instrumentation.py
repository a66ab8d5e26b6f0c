"""What level "full" adds to the code of a work-item, or of a vector of them: emitters call these around everything they emit.

Here they do nothing, as levels "off" and "bounds" want it, and as library functions do; `shadow.Shadow` and
`vector.init_checks.ValidBytes` are the other kinds. Pointers and coordinates given to them are in range, and the access itself
follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ...ir import ir

if TYPE_CHECKING:
    from ...ir.provenance import Ptr
    from .image_refs import ImageRef
    from .pointers import LanePtr


class LocalShadow(Protocol):
    """What the code around regions must know of the shadow of a group's local memory: offsets in the arena, and bytes."""

    @property
    def local_bytes(self) -> int: ...
    @property
    def local_init_shadow(self) -> int: ...
    @property
    def local_cell_offset(self) -> int: ...
    @property
    def local_cell_bytes(self) -> int: ...


class Instrumentation:
    """Hooks that leave the code as it is.

    A value that may be undefined has one part more than its operand: the mask of its undefined lanes.
    """

    def before_instr(self, instr: ir.Instr) -> None:
        """`instr` comes next (terminators and splits as well)."""

    def mask_types(self, value: ir.Value) -> list[str]:
        """LLVM types of the additional parts of a value."""
        return []

    def masks(self, value: ir.Value, like: ir.Value | None = None) -> list[str]:
        """Operands of the additional parts, in the form that `like` (default: itself) has."""
        return []

    def bind(self, instr: ir.Instr, masks: Sequence[str]) -> None:
        """The additional parts of `instr`, as a phi or a reload gives them."""

    def forget(self, instr: ir.Instr) -> None:
        """What is known of `instr` lies in its slots from now on."""

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        """A load of `type`, whose lanes are those of the result of `instr` (None: its value is used whatever comes)."""

    def after_load(self, instr: ir.Instr | None) -> None:
        """The load of `instr` is complete, also where it was out of bounds."""

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        """A store of `operand`; `value` is what it was made of lane by lane (None: it is defined)."""

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        """An atomic operation."""

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        """A copy, or a fill where there is no source."""

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        """A write whose values are not at hand."""

    def on_image_read(self, image: ImageRef, where: Sequence[str], offset: str, instr: ir.Instr | None) -> None:
        """A read of the texel at byte `offset` of the image."""

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        """A write of `operand`, as it is stored, to the texel at byte `offset` of the image."""

    def on_alloca(self, variable: ir.Instr) -> None:
        """A work-item begins with the private variable that the alloca `variable` stands for."""

    # All lanes of a vector of work-items at once; `mask`: those that make the access, None for all

    def on_vector_load(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        """A load of `count` elements in a row from where each lane is, in the private `variable` or in other memory."""

    def on_vector_store(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        """A store of `count` elements in a row to where each lane is."""

    def on_vector_fill(self, variable: ir.Instr) -> None:
        """All lanes write the whole of a private variable."""

    def on_vector_image_read(self, image: ImageRef, where: Callable[[str], LanePtr], mask: str | None) -> None:
        """A read of one texel by each lane; `where(base)`: where they are if the image begins at the address `base`."""

    def on_vector_image_write(self, image: ImageRef, where: Callable[[str], LanePtr], mask: str | None) -> None:
        """A write of one texel by each lane."""
