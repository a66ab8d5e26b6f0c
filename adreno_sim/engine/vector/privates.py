"""The layout of private variables: interleaved (element by element, lanes adjacent) or lane by lane.

In an interleaved variable, an access at a uniform offset is one vector. That requires all its accesses to have elements of
one size. Variables that are copied to one another as wholes, as structs are, have one layout. A variable whose address escapes,
or whose bytes are copied in part, is laid out lane by lane.
"""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.builtins import builtin_of
from ...ir.induction_variables import signed_constant
from ...ir.provenance import DERIVING, Provenance, gep_terms, is_pointer
from ...ir.queries import object_align, private_bytes
from ..emit.check import NotVectorizable

_LONGEST = 1024
"""Bytes of the largest private variable that is initialised element by element."""


class Privates:
    """The layout of a kernel's private variables."""

    def __init__(self, kernel: ir.Function, provenance: Provenance):
        self._provenance = provenance
        self._granules: dict[int, int | None] = {}
        self._copied: list[tuple[ir.Instr, ir.Instr]] = []
        self._variables = {id(i): i for i in kernel.blocks[0].instrs if i.op == "alloca"}
        for block in kernel.blocks:
            for instr in block.instrs:
                self._record_uses(instr)
        changed = True
        while changed:
            changed = False
            for pair in self._copied:
                changed |= self._unify(*pair)

    def is_private(self, pointer: ir.Value) -> bool:
        return self.variable(pointer) is not None

    def variable(self, pointer: ir.Value) -> ir.Instr | None:
        """Returns the variable that a pointer points into; None for other memory."""
        object_id = self._provenance.object_id(pointer)
        return self._variables[object_id[1]] if object_id is not None and object_id[0] == "alloca" else None  # type: ignore[index]

    def variable_by_id(self, number: object) -> ir.Instr:
        """Returns the variable whose alloca has the id `number`."""
        return self._variables[number]  # type: ignore[index]

    def granule(self, variable: ir.Instr) -> int | None:
        """Returns the element size in bytes of an interleaved variable, which has whole elements; None if it is laid out lane by
        lane."""
        size = self._granules.get(id(variable), 4)
        return size if size is not None and private_bytes(variable) % size == 0 else None

    def slot_bytes(self, variable: ir.Instr) -> int:
        """Returns the bytes of one lane's copy, padding included."""
        size = private_bytes(variable)
        return llvm_types.align_up(size, object_align(size))

    def initialized_variable(self, instr: ir.Instr) -> ir.Instr | None:
        """Returns the private variable that `instr` initialises as a whole, with bytes or from memory that is not private."""
        if instr.op not in ("memset", "memcpy", "memmove"):
            return None
        target, source, length = instr.operands
        variable = target if isinstance(target, ir.Instr) and target.op == "alloca" else None
        if variable is None or not isinstance(length, ir.Const) or length.value != private_bytes(variable):
            return None
        if private_bytes(variable) > _LONGEST or (instr.op != "memset" and self.is_private(source)):
            return None
        return variable if instr.op != "memset" or isinstance(source, ir.Const) else None

    def copied_variables(self, instr: ir.Instr) -> tuple[ir.Instr, ir.Instr] | None:
        """Returns target and source of a copy of one whole private variable to another."""
        if instr.op not in ("memcpy", "memmove"):
            return None
        target, source, length = instr.operands
        pair = [v for v in (target, source) if isinstance(v, ir.Instr) and v.op == "alloca" and id(v) in self._variables]
        if len(pair) < 2 or target is source or not isinstance(length, ir.Const):
            return None
        whole = all(private_bytes(variable) == length.value for variable in pair)
        return (pair[0], pair[1]) if whole and private_bytes(pair[0]) <= _LONGEST else None

    def has_bytes(self, pointer: ir.Value, nbytes: int) -> bool:
        """Returns whether `pointer` is a constant offset into its variable, at which that has `nbytes` bytes. What is proven in
        range need not be, where no lane is at work."""
        variable, offset = self.variable(pointer), 0
        while isinstance(pointer, ir.Instr) and pointer.op in ("gep", "bitcast", "addrspacecast", "freeze"):
            if pointer.op == "gep":
                fields, terms = gep_terms(pointer)
                steps = [(signed_constant(pointer.operands[number]), stride) for number, stride in terms]
                offset += fields + sum(step * stride for step, stride in steps if step is not None)
                if any(step is None for step, _ in steps):
                    return False
            pointer = pointer.operands[0]
        return pointer is variable and variable is not None and 0 <= offset <= private_bytes(variable) - nbytes

    def _record_uses(self, instr: ir.Instr) -> None:
        if instr.op in DERIVING or instr.op == "undefine":
            return
        if pair := self.copied_variables(instr):
            self._copied.append(pair)
            return
        for value in instr.operands:
            if not is_pointer(value):
                continue
            if instr.op != "phi" and self._provenance.object_id(value) is None:
                raise NotVectorizable("a pointer whose object is not known when compiling")
            variable = self.variable(value)
            if variable is not None and not self.initialized_variable(instr):
                self._restrict(variable, self._element(instr, value))

    def _element(self, instr: ir.Instr, pointer: ir.Value) -> int | None:
        """Returns the element size of an aligned access; None for any other use."""
        type: ir.Type | None = None
        if instr.op == "load":
            type = instr.type
        elif instr.op == "store" and instr.operands[1] is pointer and instr.operands[0] is not pointer:
            type = instr.operands[0].type
            if is_pointer(instr.operands[0]):
                return None
        elif (vector := builtin_of(instr).vector) is not None and not vector.half:
            type = instr.operands[0].type if vector.stores else instr.type
        elem = llvm_types.elem_of(type) if type is not None else None
        if not isinstance(elem, (ir.Int, ir.Float)):
            return None
        size = llvm_types.size_of(elem)
        return size if self._provenance.align(pointer) >= size else None

    def _unify(self, one: ir.Instr, other: ir.Instr) -> bool:
        """Gives both variables the layout that serves both. Returns True if that changed one."""
        known = [self._granules[id(v)] for v in (one, other) if id(v) in self._granules]
        if not known:
            return False
        granule = known[0] if all(one == known[0] for one in known) else None
        changed = any(self._granules.get(id(v), 0) != granule for v in (one, other))
        self._granules |= {id(one): granule, id(other): granule}
        return changed

    def _restrict(self, variable: ir.Instr, granule: int | None) -> None:
        known = self._granules.setdefault(id(variable), granule)
        if known != granule:
            self._granules[id(variable)] = None
