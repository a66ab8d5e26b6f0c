"""Which values a tensor of a Relax function can have, given those of the function's parameters.

Intervals, computed forwards through the operators that importers put between an input and an index: casts, reshapes,
arithmetic with constants, comparisons, `where`. What an operator does that is not named here is not known. A float lies between
the ends of its interval, which are integers, so that one that is cast to an integer does too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil, floor
from typing import Any

import numpy as np

from ...base.integers.interval import Interval
from ..memory_scopes.demand import bindings, op_name
from ..tvm_bridge.read import key, kind
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import shape_values, type_of

_LIMIT = 1 << 63
UNKNOWN = Interval(-_LIMIT, _LIMIT)
"""What may be any number. An end of another range that is there is not known either."""
TRUTH = Interval(0, 1)
DEEPEST = 100
"""Operators in a row that are followed; deeper values are not known."""

KEEPS = {
    f"relax.{name}"
    for name in (
        "reshape", "permute_dims", "expand_dims", "squeeze", "broadcast_to", "strided_slice", "dynamic_strided_slice", "flatten",
        "split", "repeat", "tile", "flip", "astype", "layout_transform", "wrap_param", "hint_on_device", "to_vdevice",
        "stop_lift_params", "reverse_sequence", "sort",
    )
}  # fmt: skip
"""Operators whose result has the values of their first operand, and no others."""

CHOOSES = {"relax.take", "relax.gather_elements", "relax.gather_nd", "relax.index_tensor", "relax.max", "relax.min"}
"""Operators that choose among the values of their first operand."""


class ValueRanges:
    """Intervals of the tensors of a module's main. Parameters are distinguished by their position.

    module: with the functions that it calls. symbols: sizes of the symbolic dimensions, by name.
    """

    def __init__(self, module: Any, symbols: Mapping[str, int] | None = None):
        function = module["main"]
        self.function, self.module = function, module
        self._symbols = symbols or {}
        self._values = {key(binding.var): bound_value(binding) for binding in bindings(function)}
        self._params = {key(param): position for position, param in enumerate(function.params)}

    def source(self, expr: Any) -> Any:
        """What a variable is bound to, bindings of one variable to another followed; a parameter is itself."""
        for _ in range(DEEPEST):
            value = self._values.get(key(expr))
            if value is None:
                return expr
            expr = value
        return expr

    def parameter(self, expr: Any) -> int | None:
        """The parameter whose values `expr` has, all of them and unchanged; None for anything computed."""
        for _ in range(DEEPEST):
            expr = self.source(expr)
            if key(expr) in self._params:
                return self._params[key(expr)]
            if kind(expr) != "Call" or op_name(expr) not in KEEPS:
                return None
            expr = expr.args[0]
        return None

    def of(self, expr: Any, given: Mapping[int, Interval]) -> tuple[Interval, frozenset[int]]:
        """The interval of `expr`, and the parameters that it was computed from. given: by the parameter's position."""
        reader = _Reader(self, given)
        return reader.of(expr), frozenset(reader.read)

    def sizes(self, tensor: Any) -> list[int | None]:
        """Sizes of a tensor, None for one that is not known; empty where not even the rank is."""
        return [self.size(size) for size in shape_values(type_of(tensor)) or []]

    def size(self, dim: Any) -> int | None:
        """A dimension as a number, None if it is not known."""
        number = integer(dim)
        return self._symbols.get(str(dim)) if number is None else number

    def position(self, expr: Any) -> int | None:
        """The position of a parameter; None for any other expression."""
        return self._params.get(key(expr))


class _Reader:
    """One evaluation. read: the parameters met on the way."""

    def __init__(self, ranges: ValueRanges, given: Mapping[int, Interval]):
        self._ranges, self._given = ranges, given
        self._known: dict[int, Interval] = {}
        self._depth = 0
        self.read: set[int] = set()

    def of(self, expr: Any) -> Interval:
        expr = self._ranges.source(expr)
        position = self._ranges.position(expr)
        if position is not None:
            self.read.add(position)
            return self._given.get(position, UNKNOWN)
        if key(expr) not in self._known:
            self._depth += 1
            self._known[key(expr)] = self._value(expr) if self._depth <= DEEPEST else UNKNOWN
            self._depth -= 1
        return self._known[key(expr)]

    def _value(self, expr: Any) -> Interval:
        array = constant_array(expr)
        if array is not None:
            known = array.size and np.isfinite(array).all()
            return Interval(floor(array.min()), ceil(array.max())) if known else UNKNOWN
        number = integer(expr)
        if number is not None:
            return Interval.exactly(number)
        name = kind(expr)
        if name == "Tuple":
            return hull(self.of(item) for item in expr.fields)
        if name == "TupleGetItem":
            return self._item(self._ranges.source(expr.tuple_value), int(expr.index))
        if name == "ShapeExpr":
            return hull(_exactly(self._ranges.size(dim)) for dim in expr.values)
        return self._call(expr) if name == "Call" else UNKNOWN

    def _item(self, value: Any, index: int) -> Interval:
        if kind(value) == "Call" and op_name(value) == "relax.topk":
            is_indices = str(value.attrs.ret_type) == "indices" or index == 1
            return self._axis(value) if is_indices else self.of(value.args[0])
        return self.of(value)

    def _call(self, call: Any) -> Interval:
        name = op_name(call)
        if name in KEEPS or name in CHOOSES:
            return self.of(call.args[0])
        if name in ("relax.concat", "relax.stack", "relax.shape_to_tensor"):
            return self.of(call.args[0])
        if name == "relax.shape_of":
            return hull(_exactly(size) for size in self._ranges.sizes(call.args[0]))
        if name in ("relax.tril", "relax.triu"):
            return hull([self.of(call.args[0]), Interval.exactly(0)])
        if name == "relax.where":
            return self._where(*(self.of(arg) for arg in call.args[:3]))
        if name in ("relax.zeros", "relax.zeros_like"):
            return Interval.exactly(0)
        if name in ("relax.ones", "relax.ones_like"):
            return Interval.exactly(1)
        if name in ("relax.full", "relax.full_like"):
            return self.of(call.args[1])
        if name == "relax.arange":
            start, end, _ = (self.of(arg) for arg in call.args[:3])
            return Interval(start.low, end.high - 1) if end.high > start.low else UNKNOWN
        if name in ("relax.argmax", "relax.argmin", "relax.argsort"):
            return self._axis(call)
        if name in _PREDICATES or name.startswith("relax.logical_"):
            compared = _PREDICATES.get(name)
            return compared(self.of(call.args[0]), self.of(call.args[1])) if compared else TRUTH
        operation = _ARITHMETIC.get(name)
        found = operation(*(self.of(arg) for arg in call.args)) if operation else None
        return (found and found.common(UNKNOWN)) or UNKNOWN

    def _where(self, condition: Interval, yes: Interval, no: Interval) -> Interval:
        if condition.low > 0 or condition.high < 0:
            return yes
        return no if condition == (0, 0) else hull([yes, no])

    def _axis(self, call: Any) -> Interval:
        sizes = self._ranges.sizes(call.args[0])
        size = sizes[int(call.attrs.axis)] if sizes and call.attrs.axis is not None else None
        return UNKNOWN if size is None else Interval(0, size - 1)


def bound_value(binding: Any) -> Any:
    """What a binding binds: of a MatchCast the value that is cast."""
    return binding.value


def integer(expr: Any) -> int | None:
    """The value of an integer constant of Relax or TIR; None for anything else."""
    if isinstance(expr, int):
        return expr
    if kind(expr) == "PrimValue":
        expr = expr.value
    return int(expr.value) if kind(expr) == "IntImm" else None


def hull(parts: Iterable[Interval]) -> Interval:
    """The smallest interval that holds all; UNKNOWN for none."""
    found = list(parts)
    return Interval.hull(found) if found else UNKNOWN


def _exactly(size: int | None) -> Interval:
    return Interval(0, _LIMIT) if size is None else Interval.exactly(size)


def _if_known(rule: Callable[[Interval, Interval], Interval | None]) -> Callable[[Interval, Interval], Interval | None]:
    """The rule of an operation whose result is unknown if an operand is unknown."""
    return lambda a, b: None if UNKNOWN in (a, b) else rule(a, b)


def _modulo(a: Interval, b: Interval) -> Interval | None:
    return a.remainder(b) if a.low >= 0 and b.low == b.high else None


def _less(a: Interval, b: Interval) -> Interval:
    return Interval.exactly(1) if a.high < b.low else Interval.exactly(0) if a.low >= b.high else TRUTH


def _less_equal(a: Interval, b: Interval) -> Interval:
    return _not(_less(b, a))


def _equal(a: Interval, b: Interval) -> Interval:
    if a == b and a.low == a.high:
        return Interval.exactly(1)
    return TRUTH if a.common(b) else Interval.exactly(0)


def _not(a: Interval) -> Interval:
    return Interval.exactly(1).minus(a)


_PREDICATES: dict[str, Callable[[Interval, Interval], Interval]] = {
    "relax.less": _less,
    "relax.less_equal": _less_equal,
    "relax.greater": lambda a, b: _less(b, a),
    "relax.greater_equal": lambda a, b: _less_equal(b, a),
    "relax.equal": _equal,
    "relax.not_equal": lambda a, b: _not(_equal(a, b)),
}

_ARITHMETIC: dict[str, Callable[..., Interval | None]] = {
    "relax.add": _if_known(Interval.plus),
    "relax.subtract": _if_known(Interval.minus),
    "relax.multiply": _if_known(Interval.times),
    "relax.floor_divide": _if_known(Interval.floor_quotient),
    "relax.floor_mod": _modulo,
    "relax.mod": _modulo,
    "relax.minimum": Interval.minimum,
    "relax.maximum": Interval.maximum,
    "relax.clip": lambda a, low, high: a.maximum(low).minimum(high),
    "relax.negative": lambda a: Interval.exactly(0).minus(a),
    "relax.abs": Interval.absolute,
}
