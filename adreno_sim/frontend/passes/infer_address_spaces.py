"""Inference of address spaces for generic pointers.

OpenCL C 2.0 makes a helper's unqualified pointer generic, but after inlining its object is mostly known. Such a pointer takes
the address space of its source, so that checks know the memory and variables can be promoted.
"""

from __future__ import annotations

from ...ir.ir import GENERIC, Block, Const, Function, GlobalOffset, Instr, Pointer, Value, type_of

_GENERIC = Pointer(GENERIC)
_FOLLOWED = ("gep", "phi", "select", "freeze")
_UNKNOWN = -1  # nothing found yet: a null pointer, or a phi on the way round a loop
_ADDRESS_OPERANDS = {
    "load": (0,), "store": (1,), "gep": (0,), "atomicrmw": (0,), "cmpxchg": (0,),
    "memcpy": (0, 1), "memmove": (0, 1), "memset": (0,), "note": (0,),
}  # fmt: skip
_CONVERSIONS = ("__to_global", "__to_local", "__to_private")


def infer_address_spaces(function: Function) -> bool:
    """Retypes every generic pointer that derives from one known address space. Returns whether there was one."""
    generic = [instr for block in function.blocks for instr in block.instrs if instr.type == _GENERIC]
    spaces = _infer_spaces(generic)
    if not any(space > _UNKNOWN and space != GENERIC for space in spaces.values()):
        return False
    _Narrowing(function, spaces).run()
    return True


def _infer_spaces(generic: list[Instr]) -> dict[Value, int]:
    """Maps each generic pointer to the address space that all its sources share, else to GENERIC."""
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
    """Returns the pointers from which an instruction derives its result; none for a load or a call."""
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
    """Rewrites one function. Address operands use the narrow pointer; where a generic value is needed, it is cast back.

    `casts_back` holds that cast for each retyped pointer. It follows the definition, so it dominates every use. `unchanged`
    maps conversions that became no-ops to their operand. Instructions without a use are left to dead code elimination.
    """

    def __init__(self, function: Function, spaces: dict[Value, int]):
        self.function = function
        self.spaces = spaces
        self.casts_back: dict[Value, Instr] = {}
        self.unchanged: dict[Value, Value] = {}

    def run(self) -> None:
        for instr, space in self.spaces.items():
            if self._is_retyped(instr) and isinstance(instr, Instr):
                instr.type = Pointer(space)
        for block in self.function.blocks:
            for instr in block.instrs:
                self._rewrite(instr)
        if self.unchanged:
            self._forward_unchanged()
            for block in self.function.blocks:
                block.instrs = [instr for instr in block.instrs if instr not in self.unchanged]
        for block in self.function.blocks:
            if not self.casts_back.keys().isdisjoint(block.instrs):
                block.instrs = self._insert_casts(block)

    def _is_narrow(self, value: Value) -> bool:
        return self.spaces.get(value, GENERIC) not in (GENERIC, _UNKNOWN)

    def _is_retyped(self, value: Value) -> bool:
        return self._is_narrow(value) and isinstance(value, Instr) and value.op != "addrspacecast"

    def _rewrite(self, instr: Instr) -> None:
        if instr.op in _FOLLOWED and self._is_narrow(instr):
            self._retype_sources(instr)
            return
        if instr.op == "addrspacecast":
            self._rewrite_cast(instr)
            return
        if instr.callee is not None and instr.callee.name in _CONVERSIONS:
            self._rewrite_conversion(instr)
        addresses = range(len(instr.operands)) if instr.op in ("call", "ptrtoint") else _ADDRESS_OPERANDS.get(instr.op, ())
        for index, operand in enumerate(instr.operands):
            if index in addresses:
                instr.operands[index] = self._strip_cast(operand)
            elif self._is_retyped(operand):
                instr.operands[index] = self._cast_back(operand)

    def _rewrite_conversion(self, instr: Instr) -> None:
        """Rewrites `to_global` and the like of a known pointer: to the pointer itself, or to null if its address space
        differs."""
        pointer = self._strip_cast(instr.operands[0])
        if type_of(pointer) == instr.type:
            self.unchanged[instr] = pointer
        elif type_of(pointer) != _GENERIC:
            self.unchanged[instr] = Const(instr.type, None)

    def _rewrite_cast(self, instr: Instr) -> None:
        """Rewrites a cast of a narrowed pointer, maybe back to its own address space."""
        instr.operands[0] = self._strip_cast(instr.operands[0])
        if type_of(instr.operands[0]) == instr.type:
            self.unchanged[instr] = instr.operands[0]

    def _forward_unchanged(self) -> None:
        for block in self.function.blocks:
            for instr in block.instrs:
                for index, operand in enumerate(instr.operands):
                    while operand in self.unchanged:
                        operand = self.unchanged[operand]
                    instr.operands[index] = operand

    def _retype_sources(self, instr: Instr) -> None:
        first = 1 if instr.op == "select" else 0
        last = len(instr.operands) if instr.op in ("phi", "select") else 1
        for index in range(first, last):
            source = self._strip_cast(instr.operands[index])
            if isinstance(source, Const) and not isinstance(source.value, GlobalOffset):
                source = Const(instr.type, source.value)
            instr.operands[index] = source

    def _strip_cast(self, value: Value) -> Value:
        """Returns the narrow form of a generic pointer: the operand of its cast, or the retyped instruction itself."""
        while isinstance(value, Instr) and value.op == "addrspacecast" and self._is_narrow(value):
            value = value.operands[0]
        if isinstance(value, Const) and isinstance(value.value, GlobalOffset) and value.type == _GENERIC:
            return Const(Pointer(value.value.target.space), value.value)
        return value

    def _cast_back(self, value: Value) -> Instr:
        if value not in self.casts_back:
            assert isinstance(value, Instr)
            self.casts_back[value] = Instr("addrspacecast", _GENERIC, [value], value.loc)
        return self.casts_back[value]

    def _insert_casts(self, block: Block) -> list[Instr]:
        phis = [instr for instr in block.instrs if instr.op == "phi"]
        made = phis + [self.casts_back[phi] for phi in phis if phi in self.casts_back]
        for instr in block.instrs[len(phis) :]:
            made.append(instr)
            if instr in self.casts_back:
                made.append(self.casts_back[instr])
        return made
