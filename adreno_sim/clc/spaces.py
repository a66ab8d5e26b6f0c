"""Generic pointers whose address space is known after all.

OpenCL C 2.0 makes a helper's unqualified pointer generic; once inlined, what it points into is mostly plain.
Such pointers take the address space of their source, so that checks know the memory and variables can be promoted.
"""

from __future__ import annotations

from .ir import GENERIC, Block, Const, Function, GlobalOffset, Instr, Pointer, Value, type_of

_GENERIC = Pointer(GENERIC)
_FOLLOWED = ("gep", "phi", "select", "freeze")
_UNKNOWN = -1  # nothing found yet: a null pointer, or a phi on the way round a loop
_ADDRESS_OPERANDS = {
    "load": (0,), "store": (1,), "gep": (0,), "atomicrmw": (0,), "cmpxchg": (0,),
    "memcpy": (0, 1), "memmove": (0, 1), "memset": (0,),
}  # fmt: skip


def narrow_generic_pointers(function: Function) -> bool:
    """Retype every generic pointer derived from one known address space; whether there was one."""
    generic = [instr for block in function.blocks for instr in block.instrs if instr.type == _GENERIC]
    spaces = _find_spaces(generic)
    if not any(space > _UNKNOWN and space != GENERIC for space in spaces.values()):
        return False
    _Narrowing(function, spaces).run()
    return True


def _find_spaces(generic: list[Instr]) -> dict[Value, int]:
    """Address space of each generic pointer: one that all its sources share, else GENERIC."""
    spaces: dict[Value, int] = {instr: _UNKNOWN if _sources(instr) else GENERIC for instr in generic}
    changed = True
    while changed:
        changed = False
        for instr in generic:
            space = spaces[instr]
            for source in _sources(instr):
                space = _meet(space, _space(source, spaces))
            if space != spaces[instr]:
                spaces[instr] = space
                changed = True
    return spaces


def _sources(instr: Instr) -> list[Value]:
    """The pointers an instruction derives its result from; none for one that comes out of memory or a call."""
    if instr.op in ("addrspacecast", "gep", "freeze"):
        return instr.operands[:1]
    if instr.op == "select":
        return instr.operands[1:]
    return instr.operands if instr.op == "phi" else []


def _space(value: Value, spaces: dict[Value, int]) -> int:
    if value in spaces:
        return spaces[value]
    if isinstance(value, Const) and not isinstance(value.value, GlobalOffset):
        return _UNKNOWN
    if isinstance(value, Const) and isinstance(value.value, GlobalOffset):
        return value.value.target.space
    type = type_of(value)
    return type.space if isinstance(type, Pointer) else GENERIC


def _meet(a: int, b: int) -> int:
    if a in (_UNKNOWN, b):
        return b
    return a if b == _UNKNOWN else GENERIC


class _Narrowing:
    """Rewrites one function: addresses take the narrow pointer, anything else is given a cast back to generic."""

    def __init__(self, function: Function, spaces: dict[Value, int]):
        self.function = function
        self.spaces = spaces

    def run(self) -> None:
        for instr, space in self.spaces.items():
            if self._is_narrow(instr) and isinstance(instr, Instr) and instr.op != "addrspacecast":
                instr.type = Pointer(space)
        for block in self.function.blocks:
            self._rewrite(block)

    def _is_narrow(self, value: Value) -> bool:
        return self.spaces.get(value, GENERIC) not in (GENERIC, _UNKNOWN)

    def _rewrite(self, block: Block) -> None:
        kept: list[Instr] = []
        for instr in block.instrs:
            if instr.op == "addrspacecast" and self._is_narrow(instr):
                continue
            if instr.op == "addrspacecast" and self._narrow(instr.operands[0]) is not instr.operands[0]:
                source = self._narrow(instr.operands[0])
                if type_of(source) == instr.type:  # to_global() and the like, of what is global
                    self.spaces[instr] = GENERIC
                    instr.op = "freeze"
                instr.operands[0] = source
            elif instr.op in _FOLLOWED and self._is_narrow(instr):
                self._retype_sources(instr)
            elif instr.op != "phi":
                self._rewrite_operands(instr, kept)
            kept.append(instr)
        block.instrs = kept

    def _retype_sources(self, instr: Instr) -> None:
        first = {"select": 1}.get(instr.op, 0)
        last = len(instr.operands) if instr.op in ("phi", "select") else first + 1
        for index in range(first, last):
            source = self._narrow(instr.operands[index])
            if isinstance(source, Const) and not isinstance(source.value, GlobalOffset):
                source = Const(instr.type, source.value)
            instr.operands[index] = source

    def _rewrite_operands(self, instr: Instr, kept: list[Instr]) -> None:
        addresses = range(len(instr.operands)) if instr.op in ("call", "ptrtoint") else _ADDRESS_OPERANDS.get(instr.op, ())
        for index, operand in enumerate(instr.operands):
            narrow = self._narrow(operand)
            if narrow is operand and not self._is_narrow(operand):
                continue
            if index not in addresses:
                narrow_cast = Instr("addrspacecast", _GENERIC, [narrow], instr.place)
                kept.append(narrow_cast)
                narrow = narrow_cast
            instr.operands[index] = narrow

    def _narrow(self, value: Value) -> Value:
        """What stands for a generic pointer: the operand of its cast, or the retyped instruction itself."""
        while isinstance(value, Instr) and value.op == "addrspacecast" and self._is_narrow(value):
            value = value.operands[0]
        if isinstance(value, Const) and isinstance(value.value, GlobalOffset) and value.type == _GENERIC:
            return Const(Pointer(value.value.target.space), value.value)
        return value
