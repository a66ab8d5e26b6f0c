"""Follows a Relax function to the calls that a truth runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...compiler.tvm_bridge import read
from ...compiler.tvm_bridge.tensors import constant_array
from ...compiler.tvm_bridge.versions import shape_values, type_arguments
from .follow import follow
from .given import holds_flushed, holds_nan
from .model_operators import EFFECTS, PROGRAMS, SAME, SHAPE_OF, SHAPE_TO_TENSOR, SHAPES, TENSOR_TO_SHAPE, called
from .model_plan import Place, Plan, Sizes, TruthStep, flatten
from .operators.operator import Operator, read_call
from .program import write_program
from .truth_program import TruthProgram
from .units import Units
from .value import FLOATS, Unmodelled


class Planner:
    """Follows one Relax function: which program runs when, on which tensors.

    It computes only the values that shapes and branches depend on.
    """

    def __init__(self, functions: Mapping[str, Any], units: Units):
        self._functions = functions
        self._units = units
        self._inputs: Sequence[np.ndarray] = ()
        self._plan = Plan()
        self._known: dict[tuple[str, tuple[int, ...], bool], tuple[int, TruthProgram]] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}
        self._symbols: dict[int, int] = {}

    def plan(self, name: str, inputs: Sequence[np.ndarray]) -> Plan:
        function = self._functions[name]
        if read.kind(function) != "Function":
            raise Unmodelled(f"{name}, which is not a Relax function")
        self._inputs = inputs
        places: dict[int, Place] = {}
        for param, array in zip(function.params, inputs, strict=True):
            places[read.key(param)] = self._tensor(array.shape, array.dtype.name, self._is_exact(array))
            self._bind(shape_values(read.type_of(param)), array.shape)
        self._plan.result = self._body(function.body, places)
        self._plan.note_last_uses()
        return self._plan

    def _tensor(self, shape: tuple[int, ...], dtype: str, exact: bool = True, native: bool = False) -> int:
        number = self._plan.add(dtype, exact, native)
        self._shapes[number] = shape
        return number

    def _constant(self, array: np.ndarray) -> int:
        number = self._tensor(array.shape, array.dtype.name, array.size > MOST_SEARCHED or self._is_exact(array))
        self._plan.constants[number] = array
        return number

    def _is_exact(self, array: np.ndarray) -> bool:
        """Whether all that is made of a tensor without rounding is exact. Arithmetic in halves flushes in any program."""
        return not holds_nan(array) and (array.dtype == np.float16 or not holds_flushed(array, self._units))

    def _value(self, place: Place) -> np.ndarray:
        """What a tensor holds, computed now. Raises Unmodelled where rounding may change it."""
        if not isinstance(place, int):
            raise Unmodelled("a tuple of tensors where a number is needed")
        if place not in self._plan.constants:
            (truth,) = follow(self._plan.only(place), self._inputs, self._units, ())
            if truth.unsure or truth.others is not None or (truth.sigma is not None and bool((truth.sigma != 0).any())):
                raise Unmodelled("a size or a branch that rounding may change")
            return truth.value.astype(self._plan.dtypes[place])
        return self._plan.constants[place]

    def _bind(self, dims: Sequence[Any] | None, shape: tuple[int, ...]) -> None:
        for dim, size in zip(dims or (), shape, strict=False):
            if read.kind(dim) == "Var":
                self._symbols[read.key(dim)] = size

    def _body(self, body: Any, places: dict[int, Place]) -> Place:
        if read.kind(body) != "SeqExpr":
            return self._expression(body, places)
        for block in body.blocks:
            for binding in block.bindings:
                place = self._expression(binding.value, places)
                if read.kind(binding) == "MatchCast":
                    self._match(read.type_of(binding.var), place)
                places[read.key(binding.var)] = place
        return self._expression(body.body, places)

    def _match(self, type: Any, place: Place) -> None:
        """Bind the symbols of a type that a value is cast to."""
        if isinstance(place, int):
            self._bind(shape_values(type), self._shapes[place])
        elif isinstance(place, Sizes):
            self._bind(getattr(type, "values", None), place.values)

    def _expression(self, node: Any, places: dict[int, Place]) -> Place:
        kind = read.kind(node)
        if kind in ("Var", "DataflowVar"):
            return places[read.key(node)]
        if kind == "Tuple":
            return tuple(self._expression(item, places) for item in node.fields)
        if kind == "TupleGetItem":
            whole = self._expression(node.tuple_value, places)
            assert isinstance(whole, tuple)
            return whole[int(node.index)]
        array = constant_array(node)
        if array is not None:
            return self._constant(array)
        if kind == "ShapeExpr":
            return Sizes(self._sizes(node.values))
        if kind == "If":
            chosen = bool(self._value(self._expression(node.cond, places)))
            return self._body(node.true_branch if chosen else node.false_branch, places)
        if kind == "Call":
            return self._call(node, places)
        raise Unmodelled(f"{kind} in the model")

    def _call(self, node: Any, places: dict[int, Place]) -> Place:
        if read.kind(node.op) == "GlobalVar":
            return self._inner(str(node.op.name_hint), node.args, places)
        if (known := read_call(node)) is not None:
            return self._operator(*known, node, places)
        name, args = called(node)
        if name in PROGRAMS:
            return self._call_program(node, places)
        if name in SAME:
            return self._expression(args[0], places)
        if name in EFFECTS:
            return ()
        if name in SHAPES:
            return self._shape(name, args, node, places)
        raise Unmodelled(f"calls of {name or read.kind(node.op)} in the model")

    def _shape(self, name: str, args: Sequence[Any], node: Any, places: dict[int, Place]) -> Place:
        """The value of an operator on shapes, or of one that takes its result's shape from a value."""
        given = self._expression(args[0], places)
        if name in SHAPE_OF:
            assert isinstance(given, int)
            return Sizes(self._shapes[given])
        if name in TENSOR_TO_SHAPE:
            return Sizes(tuple(int(size) for size in self._value(given)))
        if name in SHAPE_TO_TENSOR:
            assert isinstance(given, Sizes)
            return self._constant(np.array(given.values, np.int64))
        wanted = self._expression(args[1], places)
        assert isinstance(given, int), "a reshape takes a tensor and a shape"
        assert isinstance(wanted, Sizes), "a reshape takes a tensor and a shape"
        return self._reshape(given, wanted.values)

    def _reshape(self, given: int, shape: tuple[int, ...]) -> int:
        if math.prod(shape) != math.prod(self._shapes[given]):
            raise Unmodelled(f"a reshape of {list(self._shapes[given])} to {list(shape)}")
        dtype, exact, native = self._plan.dtypes[given], self._plan.exact[given], self._plan.native[given]
        if given in self._plan.constants:
            return self._constant(self._plan.constants[given].reshape(shape))
        made = self._tensor(shape, dtype, exact, native)
        self._plan.steps.append(TruthStep(len(self._plan.programs), (given,), made, ((shape, dtype),), ()))
        self._plan.programs.append(Operator("reshape", (("shape", " ".join(map(str, shape))),)))
        return made

    def _call_program(self, node: Any, places: dict[int, Place]) -> Place:
        target, given, *more = node.args
        items = given.fields if read.kind(given) == "Tuple" else [given]
        scalars = tuple((position, self._size(item)) for position, item in enumerate(items) if self._is_size(item))
        tensors_given = [item for item in items if not self._is_size(item)]
        args = tuple(number for item in tensors_given for number in flatten(self._expression(item, places)))
        (out,) = next(iter(type_arguments(node).values()))
        kinds = list(out.fields) if hasattr(out, "fields") else [out]
        results = tuple((self._sizes(shape_values(one) or []), str(one.dtype)) for one in kinds)
        sizes = self._sizes(more[0].values) if more else ()
        name = str(target.name_hint)
        places_of_scalars = {position for position, _ in scalars}
        positions = [place for place in range(len(args) + len(scalars)) if place not in places_of_scalars]
        inexact = tuple(place for place, number in zip(positions, args, strict=True) if not self._plan.exact[number])
        number, program = self._program(name, inexact, any(self._plan.native[number] for number in args))
        native, tensors = program.native, [param.tensor for param in program.params if param.tensor is not None]
        made = tuple(
            self._tensor(shape, dtype, tensor.exact, native and not tensor.exact)
            for (shape, dtype), tensor in zip(results, tensors[len(args) :], strict=True)
        )
        self._plan.steps.append(TruthStep(number, args, made[0], results, sizes, scalars))
        return made if hasattr(out, "fields") else made[0]

    def _operator(self, operator: Operator, operands: Sequence[Any], node: Any, places: dict[int, Place]) -> Place:
        args = tuple(number for item in operands for number in flatten(self._expression(item, places)))
        out = read.type_of(node)
        kinds = list(out.fields) if hasattr(out, "fields") else [out]
        results = tuple((self._sizes(shape_values(one) or []), str(one.dtype)) for one in kinds)
        native = any(self._plan.native[number] for number in args)
        made = tuple(self._tensor(shape, dtype, False, native and dtype in FLOATS) for shape, dtype in results)
        self._plan.steps.append(TruthStep(len(self._plan.programs), args, made[0], results, ()))
        self._plan.programs.append(operator)
        return made if hasattr(out, "fields") else made[0]

    def _inner(self, name: str, args: Sequence[Any], places: dict[int, Place]) -> Place:
        function = self._functions[name]
        inner = {read.key(param): self._expression(arg, places) for param, arg in zip(function.params, args, strict=True)}
        return self._body(function.body, inner)

    def _program(self, name: str, inexact: tuple[int, ...], drifts: bool) -> tuple[int, TruthProgram]:
        """A PrimFunc's program for arguments, these of them not exact, and its number; drifts: halves made some of them."""
        key = (name, inexact, drifts)
        if key not in self._known:
            number = len(self._plan.programs)
            self._known[key] = number, write_program(f"truth{number}", self._functions[name], inexact, drifts)
            self._plan.programs.append(self._known[key][1])
        return self._known[key]

    def _is_size(self, node: Any) -> bool:
        """Whether an argument is a number that the shapes of inputs say."""
        kind = read.kind(node)
        return kind == "IntImm" or kind in _SIZES or (kind == "Var" and read.key(node) in self._symbols)

    def _sizes(self, dims: Sequence[Any]) -> tuple[int, ...]:
        return tuple(self._size(dim) for dim in dims)

    def _size(self, dim: Any) -> int:
        kind = read.kind(dim)
        if kind == "IntImm":
            return int(dim.value)
        if kind == "Var" and read.key(dim) in self._symbols:
            return self._symbols[read.key(dim)]
        if kind == "Cast":
            return self._size(dim.value)
        if kind in _SIZES:
            return _SIZES[kind](self._size(dim.a), self._size(dim.b))
        raise Unmodelled(f"the size {dim}")


MOST_SEARCHED = 1 << 22
"""Elements of a constant up to which it is searched for NaN and denormal numbers: a network's weights hold none."""


_SIZES: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__, "Sub": int.__sub__, "Mul": int.__mul__, "FloorDiv": int.__floordiv__, "FloorMod": int.__mod__,
    "Max": max, "Min": min,
}  # fmt: skip
