"""Loads that give what is known: the same bytes were loaded or stored before, and nothing may have changed them since.

Kernel IR keeps every load of the source, because each is checked at its own place. Compilers of machine code do not.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable

from ...ir import ir
from ...ir.builtins import builtin_of
from ...ir.cfg import reverse_postorder
from ...ir.dominators import DominatorTree
from ...ir.memory_ops import is_atomic
from ...ir.provenance import is_pointer

_SHARED = (ir.GLOBAL, ir.LOCAL)
"""The memory that other work-items may write."""

_PURE = frozenset(
    (
        "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "trunc", "zext",
        "sext", "ptrtoint", "inttoptr", "bitcast", "addrspacecast", "select", "extractelement", "insertelement",
        "shufflevector", "extractvalue", "insertvalue", "gep",
    )
)  # fmt: skip
"""Operations whose result is the same wherever their operands are."""

_ERA_OF_CONSTANTS = 0


def find_repeated_loads(function: ir.Function) -> dict[int, ir.Value]:
    """Returns, by the id of a load, the value that it gives: an earlier load of the same bytes, or what was stored there."""
    return _Finder(function).found


class _Finder:
    """Numbers values, so that equal numbers mean equal values, and memory by eras: within one, nobody writes it.

    found: the values of loads that repeat. A block that is entered from one other goes on in that one's eras.
    """

    def __init__(self, function: ir.Function):
        self.found: dict[int, ir.Value] = {}
        self._numbers: dict[int, int] = {}
        self._names: dict[object, int] = {}
        self._fresh = itertools.count(1)
        self._known: dict[tuple[int, int, ir.Type], list[tuple[ir.Block, ir.Value]]] = defaultdict(list)
        order = reverse_postorder(function.blocks[0])
        self._tree = DominatorTree(order)
        ends: dict[int, dict[int, int]] = {}
        for block in order:
            sources = self._tree.predecessors[id(block)]
            single = len(sources) == 1 and id(sources[0]) in ends
            self._eras = dict(ends[id(sources[0])]) if single else {}
            for instr in block.instrs:
                self._number(instr)
                self._visit(block, instr)
            ends[id(block)] = {space: self._era(space) for space in _SHARED}

    def _era(self, space: int) -> int:
        if space == ir.CONSTANT:
            return _ERA_OF_CONSTANTS
        if space not in self._eras:
            self._eras[space] = next(self._fresh)
        return self._eras[space]

    def _visit(self, block: ir.Block, instr: ir.Instr) -> None:
        if instr.op == "load" and not instr.volatile:
            self._load(block, instr)
            return
        for space in _written_spaces(instr):
            self._eras.pop(space, None)
        if instr.op == "store" and not instr.volatile and not is_pointer(instr.operands[0]):
            value, pointer = instr.operands
            self._remember(block, pointer, value)

    def _load(self, block: ir.Block, load: ir.Instr) -> None:
        pointer = load.operands[0]
        for where, value in self._known.get(self._place(pointer, load.type), ()):
            if self._tree.dominates(where, block):
                self.found[id(load)] = value
                self._numbers[id(load)] = self._number(value)
                return
        self._remember(block, pointer, load)

    def _remember(self, block: ir.Block, pointer: ir.Value, value: ir.Value) -> None:
        type = ir.type_of(pointer)
        if isinstance(type, ir.Pointer) and type.space in (*_SHARED, ir.CONSTANT):
            self._known[self._place(pointer, ir.type_of(value))].append((block, value))

    def _place(self, pointer: ir.Value, type: ir.Type) -> tuple[int, int, ir.Type]:
        space = ir.type_of(pointer)
        return self._number(pointer), self._era(space.space) if isinstance(space, ir.Pointer) else -1, type

    def _number(self, value: ir.Value) -> int:
        found = self._numbers.get(id(value))
        if found is None:
            found = self._numbers[id(value)] = self._names.setdefault(self._name(value), len(self._names))
        return found

    def _name(self, value: ir.Value) -> object:
        """What a value computes; itself where no other is known to be equal."""
        if isinstance(value, ir.Const) and isinstance(value.value, int):
            return value.type, value.value
        if isinstance(value, ir.Instr) and (value.op in _PURE or _is_pure_call(value)):
            called = value.callee.mangled if value.callee is not None else ""
            operands = tuple(map(self._number, value.operands))
            return value.op, value.type, value.pred, called, value.elem, value.mask, value.indices, operands
        return id(value)


def _is_pure_call(instr: ir.Instr) -> bool:
    row = builtin_of(instr)
    return instr.op == "call" and (row.query or row.elementwise) and not any(map(is_pointer, instr.operands))


def _written_spaces(instr: ir.Instr) -> Iterable[int]:
    """Returns the address spaces in which memory may be another after an instruction."""
    row = builtin_of(instr)
    if instr.op == "fence" or is_atomic(instr) or row.sync or row.fence_flags:
        return _SHARED
    if instr.op in ("store", "memcpy", "memmove", "memset"):
        pointers = [instr.operands[1 if instr.op == "store" else 0]]
    elif instr.op == "call":
        given = [operand for operand in instr.operands if is_pointer(operand)]
        pointers = [one for number, one in enumerate(given) if row.effect(number) in ("write", "read_write")]
    else:
        return ()
    spaces = {ir.type_of(pointer).space for pointer in pointers}  # type: ignore[union-attr]
    return _SHARED if ir.GENERIC in spaces else spaces
