"""Linear expressions and conditions of a kernel in the words of its source, for those who ask why something is not proven.

gid(0), lid(0) and group(0) stand for get_global_id(0), get_local_id(0) and get_group_id(0). A name with % is that of a value in
the printed kernel IR.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ...ir import ir
from ...ir.printer import ValueNames, place_text
from ...ir.provenance import ObjectId
from ..abi.specialization import LocalArg
from ..analysis.linear import Linear
from .in_range import AccessAnalysis

_DEPTH = 3
"""Quotients and loaded indices nested deeper than this are not spelled out."""
_IDS = {"get_global_id": "gid", "get_local_id": "lid", "get_group_id": "group"}

Parts = dict[str, int]
"""Names, and how many times each is added."""


class Wording:
    """Names for what one analysis speaks of. Make it when all forms are known."""

    def __init__(self, function: ir.Function, analysis: AccessAnalysis):
        self._function, self._analysis, self._forms = function, analysis, analysis.forms
        self.names = ValueNames(function)
        self._values = {id(i): i for block in function.blocks for i in block.instrs}
        self._params = {id(param): param for param in function.params}
        self._counters = self._find_counters()
        self._owners = self._forms.owners()
        self._ids = self._name_ids()

    # Expressions

    def text(self, value: Linear, depth: int = 0) -> str:
        """Returns an expression in words."""
        parts, const = self._parts(value, depth)
        text = _sum_text(parts, const)
        return text[1:-1] if len(parts) == 1 and text in parts and text[0] == "(" else text  # one quotient or remainder

    def terms(self, value: Linear) -> list[str]:
        """Returns the names in an expression."""
        return list(self._parts(value, 0)[0])

    def is_id(self, symbol: int) -> bool:
        """Returns True if `symbol` is a local id or a group id."""
        return symbol in self._ids

    def condition(self, constraint: Linear) -> str:
        """Returns the condition that `constraint` is at most 0, with nothing negative on either side where that can be."""
        parts, const = self._parts(constraint, 0)
        left = {name: count for name, count in parts.items() if count > 0}
        right = {name: -count for name, count in parts.items() if count < 0}
        if not right:
            return f"{_sum_text(left, 0)} <= {-const}"
        if not left:
            return f"{_sum_text(right, 0)} >= {const}"
        if const == 1:
            return f"{_sum_text(left, 0)} < {_sum_text(right, 0)}"
        return f"{_sum_text(left, max(const, 0))} <= {_sum_text(right, max(-const, 0))}"

    def conditions(self, constraints: list[Linear]) -> list[str]:
        """Returns conditions in words; two that say that both sides are equal become one."""
        found: list[str] = []
        for number, one in enumerate(constraints):
            if any(one.same(other.times(-1)) for other in constraints[:number]):
                found[-1] = self.condition(one).replace("<=", "==").replace(">=", "==")
            else:
                found.append(self.condition(one))
        return found

    def symbol(self, symbol: int) -> str:
        """Returns a symbol in words."""
        return self.text(Linear({symbol: 1}, 0))

    def owner(self, symbol: int) -> ir.Instr | None:
        """Returns the instruction whose result `symbol` is, if there is one."""
        slot = self._owners.get(symbol)
        return self._values.get(slot[0]) if slot is not None else None

    def value(self, instr: ir.Value, depth: int = 0) -> str:
        """Returns a value: what it is loaded from, or its name."""
        if isinstance(instr, ir.Instr) and instr.op == "load" and depth < _DEPTH and (not instr.name or instr.name.isdigit()):
            return self.loaded(instr, depth)
        return self.names.of(instr) if isinstance(instr, ir.Param) else self.names.operand(instr)

    def loaded(self, load: ir.Instr, depth: int = 0) -> str:
        """Returns what a load reads, as an element of an argument or a variable."""
        goal = next(iter(self._analysis.goals(load)))
        target = self.target(load.operands[0]).rpartition(" ")[2]
        return f"{target}[{self.index(goal.value, goal.unit, depth + 1)}]" if goal.value is not None else f"*{target}"

    def index(self, value: Linear, unit: int, depth: int = 0) -> str:
        """Returns an offset in elements of `unit` bytes, or in bytes if it is not a whole number of them."""
        whole = in_units(value, unit)
        return self.text(whole, depth) if whole is not None else f"byte {self.text(value, depth)}"

    # Memory

    def target(self, pointer: ir.Value) -> str:
        """Returns the object that a pointer leads to: an argument by its name, a variable with its address space."""
        if isinstance(pointer, ir.Param):
            return self.names.of(pointer)
        key = self._analysis.object_of(pointer)
        return self.object(key) if key is not None else "?"

    def object(self, key: ObjectId) -> str:
        """Returns the name of a memory object."""
        kind, which = key
        if kind == "param":
            assert isinstance(which, int)
            name = self.names.of(self._function.params[which])
            return f"local {name}" if isinstance(self._analysis.spec.args[which], LocalArg) else name
        if kind == "alloca":
            return f"private {self.names.of(self._values[which])}"  # type: ignore[index]
        if kind != "global":
            return kind
        space = "local" if self._analysis.global_named(which).space == ir.LOCAL else "constant"
        return f"{space} {str(which).removeprefix(self._function.name + '.')}"

    def place(self, instr: ir.Instr) -> str:
        """Returns the place of an instruction in the source."""
        return place_text(instr.loc) or "an unknown place"

    # Inside

    def _parts(self, value: Linear, depth: int) -> tuple[Parts, int]:
        """Returns the names in an expression, ids first, and its constant."""
        parts: Parts = defaultdict(int)
        value = self._take_remainders(value, parts, depth)
        value = self._take_quotients(value, parts, depth)
        value = self._take_counters(value, parts)
        first: Parts = defaultdict(int)
        value = self._take_global_ids(value, first)
        for symbol, count in sorted(value.terms.items()):
            first[self._symbol_name(symbol, depth)] += count
        for name, count in parts.items():
            first[name] += count
        return {name: count for name, count in first.items() if count}, value.const

    def _take_remainders(self, value: Linear, parts: Parts, depth: int) -> Linear:
        """Moves what is a multiple of number - divisor * floor(number / divisor) into `parts`."""
        for symbol, count in list(value.terms.items()):
            floor = self._forms.symbols[symbol].floor
            if floor is None or count % floor[1] or not value.terms.get(symbol):
                continue
            number, times = floor[0], -count // floor[1]
            if all(value.terms.get(a) == times * c for a, c in number.terms.items()):
                parts[f"({_grouped(self.text(number, depth + 1))} % {floor[1]})" if depth < _DEPTH else "..."] += times
                value = value.plus(Linear({symbol: -count}, 0)).plus(number, -times)
        return value

    def _take_quotients(self, value: Linear, parts: Parts, depth: int) -> Linear:
        """Moves quotients of global ids into `parts`: what the divisor divides of one stands outside of the quotient."""
        for axis in range(3):
            local, group = self._forms.local_id(axis), self._forms.group_id(axis)
            for symbol, count in list(value.terms.items()):
                floor = self._forms.symbols[symbol].floor
                if floor is None or not local.terms or not group.terms:
                    continue
                whole = group.times(floor[0].terms.get(next(iter(local.terms)), 0) * self._forms.facts.local_size[axis])
                outside = in_units(whole.times(count), floor[1])
                if whole.terms and outside is not None and all(value.terms.get(a) == c for a, c in outside.terms.items()):
                    parts[self._quotient(floor[0].plus(whole), floor[1], depth)] += count
                    value = value.plus(Linear({symbol: count}, 0), -1).plus(outside, -1)
        return value

    def _quotient(self, number: Linear, divisor: int, depth: int) -> str:
        return f"({_grouped(self.text(number, depth + 1))} / {divisor})" if depth < _DEPTH else "..."

    def _take_counters(self, value: Linear, parts: Parts) -> Linear:
        """Moves loop counters into `parts`: start + step * iteration becomes the counter's name."""
        for _ in range(len(self._counters)):
            symbol = next((a for a, c in value.terms.items() if a in self._counters and not c % self._counters[a][1]), None)
            if symbol is None:
                break
            name, step, start = self._counters[symbol]
            times = value.terms[symbol] // step
            parts[name] += times
            value = value.plus(Linear({symbol: step}, 0), -times).plus(start, -times)
        return value

    def _take_global_ids(self, value: Linear, parts: Parts) -> Linear:
        """Moves group id * local size + local id into `parts` as a global id, which counts from the launch's offset."""
        for axis in range(3):
            local, group = self._forms.local_id(axis), self._forms.group_id(axis)
            size, offset = self._forms.facts.local_size[axis], self._forms.facts.offset[axis]
            whole = group.times(size).plus(local)
            if not group.terms or (size > 1 and not local.terms):
                continue
            times = value.terms.get(next(iter(group.terms)), 0) // size
            if times and all(value.terms.get(a) == times * c for a, c in whole.terms.items()):
                parts[f"gid({axis})"] += times
                value = value.plus(whole, -times).plus_const(-times * offset)
        return value

    def _symbol_name(self, symbol: int, depth: int) -> str:
        if symbol in self._ids:
            return self._ids[symbol]
        floor = self._forms.symbols[symbol].floor
        if floor is not None:
            return self._quotient(*floor, depth)
        owner = self._owners.get(symbol)
        if owner is not None:
            value = self._values.get(owner[0]) or self._params[owner[0]]
            return self.value(value, depth) + (f".s{owner[1]:x}" if isinstance(value.type, ir.Vector) else "")
        head = self._forms.iterations.get(symbol)
        return f"iteration({self.names.label(head)})" if head is not None else "?"

    def _find_counters(self) -> Mapping[int, tuple[str, int, Linear]]:
        """Returns the loop counters by the symbol of their iteration: name, step and start."""
        found = {}
        for symbol, head in self._forms.iterations.items():
            for phi in head.instrs:
                form = self._forms.of(phi) if phi.op == "phi" and isinstance(phi.type, ir.Int) else None
                if form is not None and symbol in form.terms and symbol not in found:
                    step = form.terms[symbol]
                    found[symbol] = self.names.operand(phi), step, form.plus(Linear({symbol: step}, 0), -1)
        return found

    def _name_ids(self) -> dict[int, str]:
        """Returns the symbols of ids; where ids are equal, the one that the kernel asks for."""
        found = {}
        for axis in range(3):
            for name, form in (("lid", self._forms.local_id(axis)), ("group", self._forms.group_id(axis))):
                for symbol in form.terms:
                    owner = self.owner(symbol)
                    asked = _IDS.get(owner.callee.name) if owner is not None and owner.callee is not None else None
                    found[symbol] = f"{asked or name}({axis})"
        return found


def in_units(value: Linear, unit: int) -> Linear | None:
    """Returns value / unit, or None if that is not a whole number."""
    if value.const % unit or any(c % unit for c in value.terms.values()):
        return None
    return Linear({a: c // unit for a, c in value.terms.items()}, value.const // unit)


def _grouped(text: str) -> str:
    """Returns a sum in parentheses, anything else unchanged."""
    return f"({text})" if " + " in text or " - " in text else text


def _sum_text(parts: Mapping[str, int], const: int) -> str:
    """Returns a sum that begins with something positive where there is something."""
    terms = [(count, (f"{abs(count)}*" if abs(count) > 1 else "") + name) for name, count in parts.items()]
    terms += [(const, str(abs(const)))] if const or not terms else []
    if terms[0][0] < 0:
        terms.sort(key=lambda term: term[0] < 0)
    (first, text), *rest = terms
    return ("-" if first < 0 else "") + text + "".join(f" {'-' if count < 0 else '+'} {name}" for count, name in rest)
