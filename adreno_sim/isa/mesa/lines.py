"""The source line of each instruction of machine code.

NIR's passes hand lines on. ir3 has no lines, but each of its instructions has room for one, which copies of it keep: it is set
when ir3 makes an instruction, from the NIR that it is just at, and read when the code is complete.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_int, c_uint64, c_void_p
from typing import Any

from . import layout as at
from .interpose import interpose
from .library import Mesa, read, write

_BEGIN = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p)
_MAKE = CFUNCTYPE(c_void_p, c_uint64, c_void_p, c_int, c_int, c_int)
_FINISH = CFUNCTYPE(None, c_void_p)


class LineKeeper:
    """lines: of the instructions of the code that was made last, in order; 0 for those of no line, as moves between registers."""

    def __init__(self, mesa: Mesa):
        self.lines: list[int] = []
        self._context = 0
        self._kept = interpose(
            mesa.library,
            {
                "ir3_context_init": (_BEGIN, self._begin),
                "ir3_instr_create_at": (_MAKE, self._make),
                "ir3_collect_info": (_FINISH, self._finish),
            },
        )

    def _begin(self, original: Any) -> Any:
        def begin(compiler: int, shader: int, variant: int) -> int:
            self._context = 0  # that of code which was not finished is gone
            self._context = original(compiler, shader, variant)
            return self._context

        return begin

    def _make(self, original: Any) -> Any:
        def make(where: int, place: int, operation: int, results: int, operands: int) -> int:
            made: int = original(where, place, operation, results, operands)
            source = read(self._context + at.CONTEXT_NIR_INSTRUCTION, 8) if self._context else 0
            line = read(source - at.LINE_BEFORE_INSTRUCTION, 4) if source else 0
            write(made + at.INSTRUCTION_LINE, 4, 0 if line == at.NO_LINE else line)
            return made

        return make

    def _finish(self, original: Any) -> Any:
        def finish(variant: int) -> None:
            self._context = 0
            code = read(variant + at.VARIANT_IR, 8)
            self.lines = [
                read(node - at.INSTRUCTION_NODE + at.INSTRUCTION_LINE, 4)
                for block in _walk(code + at.IR_BLOCKS)
                for node in _walk(block + at.BLOCK_INSTRUCTIONS)
            ]
            original(variant)

        return finish


def _walk(head: int) -> list[int]:
    """The nodes of one of Mesa's lists."""
    found, node = [], read(head + at.LIST_NEXT, 8)
    while node != head:
        found.append(node)
        node = read(node + at.LIST_NEXT, 8)
    return found
