"""Says of each access of a launch how it is proven in range, or in one line why it is not.

The proof is made once more, by the same code: an access's obstacle is the goal at which it failed, and the analyses keep what
they could not bound. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...base.integers.interval import Interval, signed_range
from ...device.inspection import AccessProof, LaunchProofs, SharingProof
from ...ir import ir
from ...ir.memory_ops import address_operands, touches_memory
from ...ir.mod_ref import written_arguments
from ...ir.printer import place_text
from ...ir.queries import may_leave_vector, type_of_variable
from ..abi.launch_facts import LaunchFacts
from ..abi.specialization import Specialization
from ..analysis.bounds import Bounds
from ..analysis.failures import attempt, collect
from ..analysis.interval_rules import bits_of
from ..analysis.linear import Linear
from .in_range import AccessAnalysis, Goal
from .local_races import find_local_conflicts
from .single_writer import Conflict, find_conflicts
from .wording import Wording, in_units

_SHOWN = 3
"""Conditions and unknown values that are named; the rest is counted."""
_DEPTH = 16
"""The most values that are followed from an unknown value to the first that makes it unknown."""
_WIDE = 1 << 31
"""A range at least as long as this says no more than a type does."""


def explain_launch(function: ir.Function, spec: Specialization, facts: LaunchFacts) -> LaunchProofs:
    """Returns what is proven of the accesses of a launch of `facts`, and why the rest is not."""

    def explain() -> LaunchProofs:
        analysis = AccessAnalysis(function, spec, facts)
        blocks = filter(analysis.forms.dominators.reachable, function.blocks)
        obstacles = [(i, analysis.obstacle_of(i)) for block in blocks for i in block.instrs if _is_access(i)]
        writers, races = list(find_conflicts(analysis)), list(find_local_conflicts(analysis))
        explainer = _Explainer(function, analysis)  # when all forms are known
        accesses = tuple(explainer.explain_access(instr, obstacle) for instr, obstacle in obstacles)
        return LaunchProofs(function.name, accesses, tuple(explainer.explain_sharing(writers, races)))

    with collect() as failures:
        proofs = attempt(f"proofs about kernel {function.name}", explain, LaunchProofs(function.name))
    return LaunchProofs(proofs.kernel, proofs.accesses, proofs.sharing, tuple(failures))


def _is_access(instr: ir.Instr) -> bool:
    """Returns True if `instr` accesses memory, an element of a vector, or an array that is not the whole variable."""
    if instr.op == "gep":
        whole = len(instr.operands) == 3 and type_of_variable(instr.operands[0]) == instr.elem
        return not whole and any(not isinstance(index, ir.Const) for index in instr.operands[2:])
    return touches_memory(instr) or may_leave_vector(instr)


class _Explainer:
    """Puts the goals of one analysis into words."""

    def __init__(self, function: ir.Function, analysis: AccessAnalysis):
        self._function, self._analysis, self._forms = function, analysis, analysis.forms
        self._words = Wording(function, analysis)

    def explain_access(self, instr: ir.Instr, obstacle: Goal | None) -> AccessProof:
        """Returns what is proven of one access; `obstacle` is the goal that is not shown."""
        goals, bounds = list(self._analysis.goals(instr)), self._forms.bounds_at(instr)
        index = ", ".join(self._words.index(goal.value, goal.unit) for goal in goals if goal.value is not None)
        proof = self._describe_proof(goals, bounds) if obstacle is None else ""
        reason = self._describe_obstacle(instr, obstacle, bounds) if obstacle is not None else ""
        place, target = place_text(instr.loc) or "-", self._target(instr)
        line = 0 if instr.loc.file else instr.loc.line
        return AccessProof(place, _access_name(instr), target, index, proof, reason, touches_memory(instr), line)

    def explain_sharing(
        self, writers: Sequence[tuple[ir.Param, Conflict | None]], races: Sequence[tuple[object, Conflict | None]]
    ) -> Iterator[SharingProof]:
        """Yields what is proven of the arguments that are written, and of the local arrays."""
        written = written_arguments(self._function)
        for param, conflict in writers:
            if param.index in written:
                what = "one writer work-item for each byte, no dead store"
                yield SharingProof(self._words.target(param), what, self._describe_conflict(conflict))
        for array, conflict in races:
            yield SharingProof(self._words.object(array), "no race", self._describe_conflict(conflict))  # type: ignore[arg-type]

    def _target(self, instr: ir.Instr) -> str:
        if instr.op in ("extractelement", "insertelement"):
            return self._words.value(instr.operands[0])
        pointers = [instr.operands[0]] if instr.op == "gep" else address_operands(instr)
        return ", ".join(dict.fromkeys(map(self._words.target, pointers)))

    def _describe_conflict(self, conflict: Conflict | None) -> str:
        if conflict is None:
            return ""
        places = [self._words.place(instr) for instr in (conflict.access, conflict.other) if instr is not None]
        return f"{' and '.join(places)}: {conflict.why}"

    def _describe_proof(self, goals: list[Goal], bounds: Bounds) -> str:
        if bounds.unreachable:
            return "never runs: the conditions on the way to it contradict each other"
        texts = []
        for goal in goals:
            assert goal.value is not None
            low, high = bounds.box_range(goal.value)
            how = "by the ranges of its terms"
            if low < 0 or high > goal.high:
                low, high = bounds.range_of(goal.value)
                how = "by conditions on several terms"
            texts.append(f"{_range_text(low, high, goal)} of {_range_text(0, goal.high, goal)} {how}")
        return "; ".join(dict.fromkeys(texts))

    def _describe_obstacle(self, instr: ir.Instr, goal: Goal, bounds: Bounds) -> str:
        if goal.value is None:
            return goal.what
        if goal.high < 0:
            return f"the object is smaller than one access of {goal.unit} bytes"
        low, high = bounds.range_of(goal.value)
        index, whole = self._words.index(goal.value, goal.unit), in_units(goal.value, goal.unit) is not None
        above = f" <= {goal.high // goal.unit if whole else goal.high}" if high > goal.high else ""
        what = f"{goal.what}: " if goal.what.startswith("coordinate") else ""
        if not goal.value.terms:
            beyond = f"{what}{index} is beyond 0..{goal.high // goal.unit if whole else goal.high}"
            return f"{beyond}; {self._describe_conditions(instr, goal)}"
        reach = f", it may be {_range_text(low, high, goal)}" if high - low < _WIDE else ""
        shown = f"{what}{'0 <= ' if low < 0 else ''}{index}{above} is not shown{reach}"
        return "; ".join([shown, self._describe_conditions(instr, goal), self._describe_missing(goal, bounds)])

    def _describe_conditions(self, instr: ir.Instr, goal: Goal) -> str:
        """Returns the conditions that hold where `instr` runs, those on what the goal is made of first, and those that say
        nothing to the analysis."""
        assert goal.value is not None
        subjects = set(self._symbols_of(goal.value))
        near: list[str] = []
        others: list[str] = []
        unread: list[str] = []
        for condition in self._forms.conditions.conditions_at(self._forms.block_of[id(instr)]):
            texts = self._words.conditions(condition.constraints)
            if any(subjects.intersection(self._symbols_of(constraint)) for constraint in condition.constraints):
                near += texts
            else:
                others += texts
            unread += [] if texts else [f"the condition at {self._words.place(condition.branch)}"]
        parts = [f"it runs if {_list_texts(near + others)}"] if near or others else []
        parts += [f"nothing follows from {_list_texts(unread)}"] if unread else []
        return ", ".join(parts) or "no condition leads to it"

    def _describe_missing(self, goal: Goal, bounds: Bounds) -> str:
        """Returns what would have to be known for the goal to be shown."""
        assert goal.value is not None
        if bounds.over_budget:
            return "missing: more conditions are linked to it than the analysis follows"
        low, high = bounds.range_of(goal.value)
        ends = dict.fromkeys(self._open_ends(goal.value, low < 0, high > goal.high))
        ends.update(dict.fromkeys(self._limits(ends, bounds)))
        unknown = dict.fromkeys(text for symbol, upper in ends if (text := self._describe_unknown(symbol, upper, bounds)))
        if unknown:
            return f"missing: {_list_texts(list(unknown))}"
        used = {symbol for constraint in bounds.constraints for symbol in constraint.terms}
        free = {symbol: c for symbol, c in goal.value.terms.items() if symbol not in used}
        names = self._words.terms(Linear(free or goal.value.terms, 0))
        return f"missing: a {'' if free else 'tighter '}condition on {_list_texts(names)}"

    def _open_ends(self, value: Linear, below: bool, above: bool) -> Iterator[tuple[int, bool]]:
        """Yields the symbols on which an end of the range of `value` depends, each with whether its upper end does."""
        for symbol, coefficient in value.terms.items():
            floor = self._forms.symbols[symbol].floor
            low, high = (below, above) if coefficient > 0 else (above, below)
            if floor is not None:
                yield from self._open_ends(floor[0], low, high)
            else:
                yield from [(symbol, True)] if high else []
                yield from [(symbol, False)] if low else []

    def _limits(self, ends: Iterable[tuple[int, bool]], bounds: Bounds) -> Iterator[tuple[int, bool]]:
        """Yields the symbols on which conditions let the `ends` depend, as n if i < n, each with whether its upper end does."""
        for symbol, upper in ends:
            for constraint in bounds.constraints:
                if constraint.terms.get(symbol, 0) * (1 if upper else -1) > 0:
                    yield from ((other, c < 0) for other, c in constraint.terms.items() if other != symbol)

    def _describe_unknown(self, symbol: int, upper: bool, bounds: Bounds) -> str:
        """Returns what is unknown about a value that has only bounds, or not even bounds; "" for all others."""
        known, here = self._forms.symbols[symbol], bounds.symbol_range(symbol)
        opaque, name = self._forms.opaque.get(symbol), self._words.symbol(symbol)
        if opaque is None:
            if self._words.owner(symbol) is None or self._words.is_id(symbol) or symbol in self._forms.iterations:
                return ""
            return self._describe_range(name, symbol, here)
        if here != (known.low, known.high):
            end = "upper" if upper else "lower"
            unbounded = here.high == known.high if upper else here.low == known.low
            return f"no {end} bound of {name} is known: {self._describe_opaque(opaque)}" if unbounded else ""
        root = self._find_root(opaque)
        behind = f", so that {self._describe_opaque(opaque)}" if root is not opaque else ""
        return f"nothing is known about {self._words.value(root)}: {self._describe_opaque(root)}{behind}"

    def _describe_range(self, name: str, symbol: int, known: Interval) -> str:
        """Returns the known limits of a value that has bounds, but no form."""
        owner, dominators = self._words.owner(symbol), self._forms.dominators
        assert owner is not None
        block = self._forms.block_of[id(owner)]
        looped = owner.op == "phi" and any(dominators.dominates(block, p) for p in dominators.predecessors[id(block)])
        how = ", which changes in a loop in a way that is not followed," if looped else ""
        if known == signed_range(bits_of(owner.type)):
            return f"of {name}{how} only the type is known"
        return f"of {name}{how} only the range {known.low}..{known.high} is known"

    def _describe_opaque(self, instr: ir.Instr) -> str:
        """Returns why only the type of a result is known."""
        place, name = self._words.place(instr), self._words.value(instr)
        if id(instr) in self._forms.misfits:
            return f"{name} at {place} may wrap, as {self._words.text(self._forms.misfits[id(instr)])} may not fit {instr.type}"
        if instr.op in ("load", "atomicrmw", "cmpxchg"):
            return f"{place} takes it from {self._words.target(instr.operands[0])}, whose contents are not known"
        if instr.callee is not None:
            return f"it is a result of {instr.callee.name} at {place}"
        if instr.op in ("fptosi", "fptoui"):
            return f"{place} makes it from a float"
        if instr.op == "phi":
            return f"{name} changes in a loop in a way that is not followed"
        return f"no rule bounds {name}, the {instr.op} at {place}"

    def _find_root(self, instr: ir.Instr) -> ir.Instr:
        """Returns the value that makes the result of `instr` unknown: an operand without any known limit, or its root."""
        for _ in range(_DEPTH):
            behind = (self._forms.opaque.get(symbol) for symbol in self._operand_symbols(instr))
            root = next((one for one in behind if one is not None and one is not instr), None)
            if root is None:
                break
            instr = root
        return instr

    def _operand_symbols(self, instr: ir.Instr) -> Iterator[int]:
        """Yields the symbols that the integer operands of `instr` are made of, those inside quotients too."""
        if instr.op == "load":
            return
        for operand in instr.operands:
            if isinstance(operand.type, ir.Int):
                yield from self._symbols_of(self._forms.of(operand))

    def _symbols_of(self, value: Linear) -> Iterator[int]:
        for symbol in value.terms:
            floor = self._forms.symbols[symbol].floor
            yield from [symbol] if floor is None else self._symbols_of(floor[0])


def _access_name(instr: ir.Instr) -> str:
    if instr.callee is not None:
        return instr.callee.name
    return {"gep": "index", "extractelement": "element", "insertelement": "element"}.get(instr.op, instr.op)


def _range_text(low: int, high: int, goal: Goal) -> str:
    """Returns a range in units of a goal, or where it does not consist of whole units in bytes."""
    assert goal.value is not None
    if in_units(goal.value, goal.unit) is None:
        return f"{low}..{high} bytes"
    return f"{low // goal.unit}..{high // goal.unit}"


def _list_texts(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return " and ".join(texts[:_SHOWN]) + more if not more else ", ".join(texts[:_SHOWN]) + more
