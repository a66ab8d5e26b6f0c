"""The slots of a kernel's arguments in the argument block, whose fields are loaded once, in the prologue."""

from __future__ import annotations

from ..llvm.text import Text


class ArgumentSlots:
    """The slots of one region's arguments. offsets: where each is in the block."""

    def __init__(self, prologue: Text, offsets: list[int]):
        self._prologue, self._offsets = prologue, offsets
        self._fields: dict[tuple[int, int], str] = {}
        self._narrow: dict[tuple[int, int], str] = {}

    def address(self, index: int, offset: int = 0) -> str:
        """Returns the address of the byte at `offset` in an argument's slot."""
        return self._prologue.op(f"getelementptr i8, ptr %args, i64 {self._offsets[index] + offset}")

    def field(self, index: int, offset: int, type: str = "i64") -> str:
        """Returns a field of an argument's slot. It is loaded on first use."""
        if (index, offset) not in self._fields:
            at = self.address(index, offset)
            self._fields[index, offset] = self._prologue.op(f"load {type}, ptr {at}, align 8, !invariant.load !1")
        return self._fields[index, offset]

    def narrow_field(self, index: int, offset: int) -> str:
        """Returns a field of an argument's slot as i32."""
        if (index, offset) not in self._narrow:
            self._narrow[index, offset] = self._prologue.op(f"trunc i64 {self.field(index, offset)} to i32")
        return self._narrow[index, offset]
