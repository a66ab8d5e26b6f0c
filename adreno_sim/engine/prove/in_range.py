"""Proves which accesses of a kernel are in range in one launch, so that the machine code needs no check for them.

What has to be shown of an access are its goals, each a linear expression and its bounds. The first goal that is not shown is
the access's obstacle: `explain` makes a sentence of it, for those who ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...base.integers.interval import signed_range
from ...ir import ir, llvm_types
from ...ir.builtins import VectorAccess, builtin_of, find_builtin
from ...ir.memory_ops import address_operands, claimed_alignment, is_plain_load, is_plain_store, touches_memory
from ...ir.provenance import ObjectId, Provenance, is_pointer
from ...ir.queries import globals_of, may_leave_vector, private_bytes
from ...records import dataclass
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import ROOM, ROOM_24, LocalArg, Proofs, Specialization
from ..analysis.affine import AffineForms
from ..analysis.affine_rules import RULES
from ..analysis.bounds import Bounds
from ..analysis.interval_rules import is_unsigned
from ..analysis.linear import Linear

_ARITHMETIC = ("add", "sub", "mul", "shl")


@dataclass(frozen=True)
class Span:
    """`size` bytes at byte `offset` of the object that `pointer` points into."""

    pointer: ir.Value
    offset: Linear
    size: int


class Goal(NamedTuple):
    """What has to be shown of an access: 0 <= value <= high. `value` counts bytes of the object that `pointer` points into,
    accessed `unit` at a time, or elements of an array or vector (an "index"), or texels (a "coordinate").

    value None: it cannot be shown, and `what` says why.
    """

    what: str
    value: Linear | None = None
    high: int = 0
    unit: int = 1
    pointer: ir.Value | None = None

    def is_shown(self, bounds: Bounds) -> bool:
        """Returns True if it is proven under `bounds`."""
        return self.value is not None and bounds.implies_within(self.value, 0, self.high)


_NO_ACCESS = Goal("it accesses nothing that has bounds")
_NO_SPAN = Goal("how many bytes it accesses is not known")
_ANY_OBJECT = "the pointer may lead to any object: it is loaded, made from an integer, or not the same object's on every way"


def prove_in_range(analysis: AccessAnalysis) -> Proofs:
    """Returns which accesses are proven in range, which operations not to wrap, and which extended values are narrow. It holds in
    every launch of equal facts."""
    in_range, nsw, narrow, aligned = set(), set(), set(), set()
    number = 0
    for block in analysis.function.blocks:
        for instr in block.instrs:
            if analysis.forms.dominators.reachable(block):
                if analysis.is_narrow(instr):
                    narrow.add(number)
                if analysis.is_aligned(instr):
                    aligned.add(number)
                if analysis.obstacle_of(instr) is None:
                    in_range.add(number)
                elif instr.op in _ARITHMETIC and isinstance(instr.type, ir.Int) and analysis.is_nsw(instr):
                    nsw.add(number)
            number += 1
    return Proofs(frozenset(in_range), frozenset(nsw), frozenset(narrow), aligned=frozenset(aligned))


class AccessAnalysis:
    """What can be proven of the accesses of one kernel in one launch."""

    def __init__(self, function: ir.Function, spec: Specialization, facts: LaunchFacts):
        self.function, self.spec = function, spec
        self.forms = AffineForms(function, spec, facts, RULES)
        self._provenance = Provenance(function)
        self._params = {p.index: p for p in function.params}
        self._globals = {g.name: g for g in globals_of(function)}
        self._allocas = {id(i): i for i in function.blocks[0].instrs if i.op == "alloca"}

    def is_nsw(self, instr: ir.Instr) -> bool:
        """Returns True if the integer operation does not wrap as signed."""
        self.forms.of(instr)
        return (id(instr), 0) in self.forms.nsw

    def is_narrow(self, instr: ir.Instr) -> bool:
        """Returns True if an extension of 32 bits to 64, or a product of 24, is of values as `Proofs.narrow` says."""
        if instr.op in ("sext", "zext") and instr.operands[0].type == ir.Int(32) and instr.type == ir.Int(64):
            low, high = signed_range(32)
            values, least, most = instr.operands[:1], 0 if instr.op == "zext" else low + ROOM, high - ROOM
        elif builtin_of(instr).multiplies_24_bits and instr.type == ir.Int(32) and not is_unsigned(instr, 0):
            low, high = signed_range(24)
            values, least, most = instr.operands[:2], low + ROOM_24, high - ROOM_24
        else:
            return False
        bounds = self.forms.bounds_at(instr)
        return all(bounds.implies_within(self.forms.of(value), least, most) for value in values)

    def is_aligned(self, instr: ir.Instr) -> bool:
        """Returns True if a load or store is as `Proofs.aligned` says: its type's form alone does not say so, the sum of bytes
        does."""
        asked = claimed_alignment(instr) if is_plain_load(instr) or is_plain_store(instr) else 1
        if asked == 1 or all(self._provenance.align(v) >= asked for v in address_operands(instr)):
            return False
        spans = [span for span in self.spans(instr) if span is not None]
        return bool(spans) and all(span.offset.congruence.is_multiple_of(asked) for span in spans)

    def obstacle_of(self, instr: ir.Instr) -> Goal | None:
        """Returns what is not shown of an access to memory, to an array or to an element of a vector; None if it is proven to
        stay inside."""
        if instr.op != "gep" and not may_leave_vector(instr) and not touches_memory(instr):
            return _NO_ACCESS
        bounds = self.forms.bounds_at(instr)
        if bounds.unreachable and touches_memory(instr):
            return None
        return next((goal for goal in self.goals(instr) if not goal.is_shown(bounds)), None)

    def is_in_range(self, instr: ir.Instr) -> bool:
        """Returns True if every access of `instr` to memory is inside its object, or if it never executes."""
        return self.obstacle_of(instr) is None

    def goals(self, instr: ir.Instr) -> Iterator[Goal]:
        """Yields what has to be shown of an access, at least one goal."""
        if instr.op == "gep":
            yield from self._array_goals(instr)
        elif may_leave_vector(instr):
            yield Goal("index", self.forms.of(instr.operands[-1]), llvm_types.lanes_of(instr.operands[0].type) - 1)
        elif builtin_of(instr).image:
            yield from self._texel_goals(instr)
        else:
            spans = list(self.spans(instr))
            yield from (_NO_SPAN if span is None else self._span_goal(span) for span in spans or [None])

    def _array_goals(self, gep: ir.Instr) -> Iterator[Goal]:
        """Yields a goal for each index of an array inside the object."""
        type, found = gep.elem, False
        for index in gep.operands[2:]:
            if isinstance(type, ir.Struct):
                assert isinstance(index, ir.Const)
                assert isinstance(index.value, int)
                type = type.fields[index.value]
                continue
            assert isinstance(type, (ir.Array, ir.Vector))
            yield Goal("index", self.forms.of(index), type.count - 1)
            type, found = type.elem, True
        if not found:
            yield _NO_ACCESS

    def _span_goal(self, span: Span) -> Goal:
        key = self.object_of(span.pointer)
        extent = self.object_size(key)
        if extent is not None:
            return Goal("offset", span.offset, extent - span.size, span.size, span.pointer)
        return Goal(_ANY_OBJECT if key is None else "the size of the object is not known", pointer=span.pointer)

    def object_of(self, pointer: ir.Value) -> ObjectId | None:
        """Returns the object that a pointer points into, or None if it may be any."""
        return self._provenance.object_id(pointer)

    def global_named(self, name: object) -> ir.Global:
        """Returns the program-scope variable `name` that the kernel refers to."""
        return self._globals[name]  # type: ignore[index]

    def object_size(self, key: ObjectId | None) -> int | None:
        """Returns the size of an object in bytes, or None if it is unknown."""
        if key is None:
            return None
        kind, which = key
        if kind == "param":
            assert isinstance(which, int)
            arg = self.spec.args[which]
            return arg.nbytes if isinstance(arg, LocalArg) else self.forms.buffer_bytes(self._params[which])
        if kind == "alloca":
            return private_bytes(self._allocas[which])  # type: ignore[index]
        return llvm_types.size_of(self._globals[which].type) if kind == "global" else None  # type: ignore[index]

    def spans(self, instr: ir.Instr) -> Iterator[Span | None]:
        """Yields the memory that `instr` accesses, one span a pointer; None for an access whose extent is unknown."""
        form, operands = self.forms.of, instr.operands
        if instr.op == "load":
            yield Span(operands[0], form(operands[0]), _bytes_of(instr.type))
        elif instr.op == "store":
            value, target = operands
            by_value = isinstance(value, ir.Param) and isinstance(value.type, ir.Struct)
            yield None if by_value else Span(target, form(target), _bytes_of(ir.type_of(value)))
        elif instr.op in ("memcpy", "memmove", "memset"):
            yield from self._copy_spans(instr)
        elif instr.op in ("atomicrmw", "cmpxchg"):
            yield Span(operands[0], form(operands[0]), llvm_types.store_size(operands[1].type))
        elif instr.callee is not None:
            yield from self._call_spans(instr, instr.callee)

    def _copy_spans(self, instr: ir.Instr) -> Iterator[Span | None]:
        target, source, length = instr.operands
        if not (isinstance(length, ir.Const) and isinstance(length.value, int)):
            yield None
            return
        yield Span(target, self.forms.of(target), length.value)
        if instr.op != "memset":
            yield Span(source, self.forms.of(source), length.value)

    def _call_spans(self, instr: ir.Instr, callee: ir.Callee) -> Iterator[Span | None]:
        row = find_builtin(callee.name)
        if row.vector is not None:
            yield self._vector_span(instr, row.vector)
        elif row.one_element and sum(is_pointer(v) for v in instr.operands) == 1:
            pointer = instr.operands[0]
            type = instr.operands[1].type if isinstance(instr.type, ir.Void) else instr.type
            yield Span(pointer, self.forms.of(pointer), llvm_types.store_size(type))
        else:
            yield None

    def _vector_span(self, instr: ir.Instr, access: VectorAccess) -> Span:
        """The span of vload, vstore and their half variants: the index counts whole vectors (OpenCL C 6.15.7)."""
        *data, index, pointer = instr.operands
        type = data[0].type if data else instr.type
        lanes, elem = llvm_types.lanes_of(type), llvm_types.elem_of(type)
        size = 2 if access.half else llvm_types.size_of(elem)
        stride = size * (4 if access.aligned and lanes == 3 else lanes)
        return Span(pointer, self.forms.of(pointer).plus(self.forms.of(index), stride), size * lanes)

    def _texel_goals(self, instr: ir.Instr) -> Iterator[Goal]:
        """Yields a goal for each coordinate: integers that are inside the image."""
        image = instr.operands[0]
        sampled = isinstance(instr.operands[1].type, ir.Sampler)
        where = instr.operands[2 if sampled else 1]
        extents = self.forms.extents(image) if isinstance(image, ir.Param) else ()
        if not extents:
            yield Goal("the extents of the image are not known")
        elif not isinstance(llvm_types.elem_of(where.type), ir.Int):
            yield Goal("the coordinates are floats")
        else:
            for lane, extent in enumerate(extents):
                yield Goal(f"coordinate {'xyz'[lane]}", self.forms.of(where, lane), extent - 1)


def _bytes_of(type: ir.Type) -> int:
    """Returns the bytes that a load or store of `type` accesses."""
    return 8 if isinstance(type, ir.Pointer) else llvm_types.store_size(type)
