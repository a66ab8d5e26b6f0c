"""Affine (scalar evolution) analysis: integers and addresses of a kernel as linear expressions over unbounded integers.

The form of a value is what its operations give without wrap, read as signed. Each rule proves that its result fits the type,
under the conditions of the block that computes it. A value that may wrap, or that has no rule, becomes a symbol with bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

from ...base.integers.interval import signed_range
from ...ir import ir, llvm_types
from ...ir.dominators import Dominators
from ...ir.induction_variables import signed
from ..abi.launch_facts import LaunchFacts, extents_of
from ..abi.specialization import ImageArg, Specialization
from .bounds import Bounds
from .budget import Budget, OverBudget
from .failures import note
from .interval_rules import bits_of, find_interval
from .linear import Linear, SymbolTable
from .path_conditions import PathConditions

_STEPS = 4000, 8
"""The forms, for a kernel and for each of its instructions, that may be computed under assumptions about what loops carry. Each
loop inside another may double them. Kernels written by people take less than one for an instruction."""
_SHARE = 4
"""One such value may take the fourth part of them."""
_ASSUMPTIONS = 24
"""The most assumptions that may be made one inside another."""
_NESTED = 24
"""Forms that depend on one another more deeply than this are computed from the bottom up."""

Slot = tuple[int, int]
"""A value and one of its lanes: (id, lane)."""


Rule = Callable[["AffineForms", ir.Instr, int, Bounds], "Linear | None"]
"""The form of an instruction's lane; None if no rule knows one."""


class AffineForms:
    """The affine forms of one kernel in one launch. A form is computed when it is first asked for.

    rules: by operation, how its form follows from those of its operands (`affine_rules.RULES`, built on top of this module).
    """

    def __init__(self, function: ir.Function, spec: Specialization, facts: LaunchFacts, rules: Mapping[str, Rule]):
        self.spec, self.facts, self._rules = spec, facts, rules
        self.symbols = SymbolTable()
        self.dominators = Dominators(function)
        self.block_of = {id(i): b for b in self.dominators.order for i in b.instrs}
        self.conditions = PathConditions(self)
        self._forms: dict[Slot, Linear] = {}
        self._trail: list[Slot] = []
        self._in_progress: set[Slot] = set()
        self._nested = 0
        self._assumptions = 0
        self.budget = Budget.of("values that loops carry", function, *_STEPS)
        self._ids: dict[tuple[str, int], Linear] = {}
        self.iterations: dict[int, ir.Block] = {}
        """The symbols that count iterations of a loop from 0, each with the loop's header."""
        self.nsw: set[Slot] = set()
        """The operations, among those whose form was asked for, that do not wrap as signed."""
        self.opaque: dict[int, ir.Instr] = {}
        """The symbols of results for which only the type is known, because no rule bounds them."""
        self.misfits: dict[int, Linear] = {}
        """The form that the result of an instruction, by id, would have if it did not perhaps wrap."""

    # Values

    def of(self, value: ir.Value, lane: int = 0) -> Linear:
        """Returns the form of an integer (of one lane of a vector), or of an address as its byte offset in its object."""
        if isinstance(value, ir.Const):
            return Linear.number(_constant(value, lane))
        if isinstance(value, ir.Global):
            return Linear.number(0)
        known = self._forms.get((id(value), lane))
        if known is None:
            known = self._parameter(value, lane) if isinstance(value, ir.Param) else self._compute(value, lane)
        return known

    def _parameter(self, param: ir.Param, lane: int) -> Linear:
        data = self.facts.arguments[param.index]
        if isinstance(param.type, ir.Pointer):
            return self.record(param, lane, Linear.number(0))
        bits = bits_of(param.type)
        if not isinstance(data, bytes):
            return self.record(param, lane, self.symbols.new(*signed_range(bits)))
        size = max(bits, 8) // 8
        number = int.from_bytes(data[lane * size : (lane + 1) * size], "little", signed=bits > 1)
        return self.record(param, lane, Linear.number(-(number & 1) if bits == 1 else number))

    def _compute(self, instr: ir.Instr, lane: int) -> Linear:
        slot = id(instr), lane
        if slot in self._in_progress:  # a phi that is asked for while it is being computed: only its type is known
            return self.symbols.new(*signed_range(bits_of(instr.type)))
        if self._assumptions:
            self.budget.spend()
        if self._nested >= _NESTED:
            self._compute_operands(instr, lane)
        self._nested += 1
        try:
            found = self._phi(instr, lane) if instr.op == "phi" else self._apply_rule(instr, lane)
        finally:
            self._nested -= 1
        return self.record(instr, lane, found if found is not None else self._new_opaque(instr))

    def _phi(self, phi: ir.Instr, lane: int) -> Linear | None:
        """Returns the form of a phi, and None if its analysis takes too long."""
        mark, slot = self.mark(), (id(phi), lane)
        if self._assumptions:
            return self._form_of_phi(phi, slot)
        if self.budget.used_up:
            return None
        try:
            with self.budget.share(_SHARE):
                return self._form_of_phi(phi, slot)
        except OverBudget as over:
            note([str(over)])
            self.roll_back(mark)
            return None

    def _form_of_phi(self, phi: ir.Instr, slot: Slot) -> Linear | None:
        self._in_progress.add(slot)
        try:
            return self._apply_rule(phi, slot[1])
        finally:
            self._in_progress.discard(slot)

    @cached_property
    def compared(self) -> frozenset[int]:
        """The values that comparisons take, by id, and those from which they are extended or truncated."""
        found = set()
        for instr in (i for b in self.dominators.order for i in b.instrs if i.op == "icmp"):
            for value in instr.operands:
                found.add(id(value))
                while isinstance(value, ir.Instr) and value.op in ("trunc", "zext", "sext"):
                    value = value.operands[0]
                    found.add(id(value))
        return frozenset(found)

    def is_in_progress(self, phi: ir.Instr) -> bool:
        """Returns True if the form of `phi` is being computed, so that it is not known yet."""
        return (id(phi), 0) in self._in_progress

    def _compute_operands(self, instr: ir.Instr, lane: int) -> None:
        """Computes the forms that `instr` depends on, each after those that it depends on itself, without going round loops."""
        pending: list[tuple[ir.Value, bool]] = [(instr, False)]
        seen: set[int] = set()
        while pending:
            value, ready = pending.pop()
            at = lane_of(value, lane)
            if ready and value is not instr:
                self.of(value, at)
            elif isinstance(value, ir.Instr) and id(value) not in seen:
                seen.add(id(value))
                pending.append((value, True))
                pending += [(v, False) for v in self._operands_before(value) if self._is_unknown(v, at)]

    def _operands_before(self, instr: ir.Instr) -> list[ir.Value]:
        """Returns the operands of `instr`, of a phi those from outside its loop."""
        if instr.op != "phi":
            return instr.operands
        here, dominators = self.block_of[id(instr)], self.dominators
        edges = zip(instr.operands, instr.blocks, strict=True)
        return [v for v, b in edges if dominators.reachable(b) and dominators.position(b) < dominators.position(here)]

    def _is_unknown(self, value: ir.Value, lane: int) -> bool:
        slot = id(value), lane_of(value, lane)
        return isinstance(value, ir.Instr) and is_index(value.type) and slot not in self._forms and slot not in self._in_progress

    @contextmanager
    def assuming(self, phi: ir.Instr, lane: int, form: Linear) -> Iterator[None]:
        """Inside the `with` statement the form of `phi` is `form`. What is derived from that is dropped at its end."""
        if self._assumptions == _ASSUMPTIONS:
            raise OverBudget(self.budget.reason)
        mark = self.mark()
        self._assumptions += 1
        self.record(phi, lane, form)
        try:
            with self.conditions.forgetting():
                yield
        finally:
            self._assumptions -= 1
            self.roll_back(mark)

    @contextmanager
    def afresh(self) -> Iterator[None]:
        """Inside the `with` statement no form is known, so that one may be assumed of any phi. What is found is dropped."""
        kept = self._forms, self._trail, self.conditions, self.nsw
        self._forms, self._trail, self.conditions, self.nsw = {}, [], PathConditions(self), set()
        try:
            yield
        finally:
            self._forms, self._trail, self.conditions, self.nsw = kept

    def _new_opaque(self, instr: ir.Instr) -> Linear:
        form = self.symbols.new(*signed_range(bits_of(instr.type)))
        self.opaque.update(dict.fromkeys(form.terms, instr))
        return form

    def _apply_rule(self, instr: ir.Instr, lane: int) -> Linear | None:
        rule, bounds = self._rules.get(instr.op), self.bounds_at(instr)
        return rule(self, instr, lane, bounds) if rule and not bounds.unreachable else None

    def record(self, value: ir.Value, lane: int, form: Linear) -> Linear:
        """Stores and returns `form` as the form of `value`."""
        self._forms[id(value), lane] = form
        self._trail.append((id(value), lane))
        return form

    def owners(self) -> dict[int, Slot]:
        """Returns what the symbols stand for: for each that is the whole form of a value, the first such value."""
        found: dict[int, Slot] = {}
        for slot in self._trail:
            form = self._forms.get(slot)
            if form is not None and form.const == 0 and list(form.terms.values()) == [1]:
                found.setdefault(next(iter(form.terms)), slot)
        return found

    def mark(self) -> tuple[int, int]:
        """Returns a mark to which `roll_back` can return."""
        return len(self._trail), self.conditions.mark()

    def roll_back(self, mark: tuple[int, int]) -> None:
        """Drops every form and bound derived since `mark`."""
        for slot in self._trail[mark[0] :]:
            self._forms.pop(slot, None)
            self.nsw.discard(slot)
        del self._trail[mark[0] :]
        self.conditions.roll_back(mark[1])

    # Places

    def may_execute(self, instr: ir.Instr) -> bool:
        """Returns False if the conditions on the way to `instr` contradict each other, so that it never executes."""
        return not self.bounds_at(instr).unreachable

    def bounds_at(self, instr: ir.Instr) -> Bounds:
        """Returns the bounds that hold where `instr` executes."""
        return self.conditions.bounds_at(self.block_of[id(instr)])

    def if_fits(self, instr: ir.Instr, form: Linear, bounds: Bounds) -> Linear | None:
        """Returns `form` if it fits the instruction's type under `bounds`, else None."""
        if bounds.implies_within(form, *signed_range(bits_of(instr.type))):
            return form
        self.misfits[id(instr)] = form
        return None

    def bounded_by_rule(self, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
        """Returns a form that has only an interval, computed from the intervals of all operands (`interval_rules`)."""
        found = find_interval(instr, lambda value: bounds.range_of(self.of(value, lane_of(value, lane))))
        return self.new_bounded(*found) if found else None

    def new_bounded(self, low: int, high: int) -> Linear:
        """Returns a form that has only bounds: a new symbol, or a constant if both bounds are equal."""
        return Linear.number(low) if low == high else self.symbols.new(low, high)

    # Ids

    def local_id(self, axis: int) -> Linear:
        """Returns the form of get_local_id(axis)."""
        return self._id("local", axis, self.facts.local_size[axis])

    def group_id(self, axis: int) -> Linear:
        """Returns the form of get_group_id(axis)."""
        return self._id("group", axis, self.facts.groups[axis])

    def _id(self, kind: str, axis: int, count: int) -> Linear:
        if (kind, axis) not in self._ids:
            self._ids[kind, axis] = self.new_bounded(0, count - 1)
        return self._ids[kind, axis]

    def global_id(self, axis: int, with_offset: bool = True) -> Linear:
        """Returns the form of get_global_id(axis). In a non-uniform launch it also constrains the id to stay below the global
        size."""
        facts = self.facts
        result = self.group_id(axis).times(facts.local_size[axis]).plus(self.local_id(axis))
        if not facts.uniform and ("global", axis) not in self._ids:
            self._ids["global", axis] = result
            inside = result.plus_const(1 - facts.global_size[axis])
            for symbol in inside.terms:
                self.symbols[symbol].constraints.append(inside)
        return result.plus_const(facts.offset[axis] if with_offset else 0)

    def buffer_bytes(self, param: ir.Param) -> int | None:
        """Returns the size in bytes of the buffer given for `param`, or None if it is not a buffer."""
        known = self.facts.arguments[param.index]
        return known if isinstance(known, int) else None

    def extents(self, param: ir.Param) -> tuple[int, ...]:
        """Returns the extents, by coordinate, of the image given for `param`; () if it is not an image."""
        arg, known = self.spec.args[param.index], self.facts.arguments[param.index]
        return extents_of(arg, known) if isinstance(arg, ImageArg) and isinstance(known, tuple) else ()


def is_index(type: ir.Type) -> bool:
    """Returns True if values of `type` have forms."""
    return isinstance(llvm_types.elem_of(type), (ir.Int, ir.Pointer))


def lane_of(value: ir.Value, lane: int) -> int:
    """Returns the lane of an operand from which a lane of the result is made; a scalar stands for all lanes."""
    return lane if lane < llvm_types.lanes_of(value.type) else 0


def _constant(value: ir.Const, lane: int) -> int:
    if isinstance(value.value, tuple):
        return _constant(value.value[lane], 0)
    if isinstance(value.value, ir.GlobalOffset):
        return value.value.offset
    return signed(value.value, bits_of(value.type)) if isinstance(value.value, int) else 0
