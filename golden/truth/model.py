"""What a whole model should compute without rounding: its operators one by one, each from what those before it gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ...compiler.tvm_bridge import read
from ...compiler.tvm_bridge.tensors import constant_array, tensor_of
from ...compiler.tvm_bridge.versions import import_tvm, shape_values, type_arguments
from ...memory.spilled import let_go, spill
from .. import result_cache
from ..serial import without_threads
from .compiled import CompiledTruths, Function
from .operators.kernels import run_operator
from .operators.operator import Operator, read_call
from .operators.sorting import gives_places
from .program import TruthProgram, write_program
from .run import Given, Truth, run_program
from .units import Units
from .value import FLOATS, Unmodelled

if TYPE_CHECKING:
    from tvm import IRModule

Place = Union[int, tuple["Place", ...]]
"""A tensor by its number among all of a run, or a tuple of places."""


@dataclass(frozen=True)
class _Step:
    """A call of a program. args: numbers of tensors; results: shapes and types of what it makes, numbered from `first`.

    sizes: values of its scalar parameters behind the results. scalars: those among the arguments, each with its position.
    """

    program: int
    args: tuple[int, ...]
    first: int
    results: tuple[tuple[tuple[int, ...], str], ...]
    sizes: tuple[int, ...]
    scalars: tuple[tuple[int, int], ...] = ()


@dataclass
class _Plan:
    """One function of a model as calls in order. dtypes, exact, native: by tensor; native: also known as halves give it."""

    programs: list[TruthProgram | Operator] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)
    constants: dict[int, np.ndarray] = field(default_factory=dict)
    dtypes: list[str] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    native: list[bool] = field(default_factory=list)
    last_use: dict[int, int] = field(default_factory=dict)
    result: Place = 0

    def add(self, dtype: str, exact: bool, native: bool) -> int:
        self.dtypes.append(dtype)
        self.exact.append(exact)
        self.native.append(native)
        return len(self.exact) - 1

    def content(self) -> list[object]:
        """All that its outputs depend on besides the inputs, for the key of a cache."""
        return [
            *(program.text for program in self.programs),
            self.steps,
            self.result,
            *(part for item in self.constants.items() for part in item),
        ]


class ModelTruth:
    """A module without any pass for a device; operators as TVM legalises them for inference."""

    def __init__(self, imported: IRModule):
        transform = import_tvm().relax.transform
        inferred = transform.DecomposeOpsForInference()(without_threads(imported))
        self._module = transform.LegalizeOps({"relax.permute_dims": _legalize_permutation})(inferred)

    def run(
        self, inputs: Sequence[np.ndarray], units: Units, function: str = "main", places: Sequence[np.ndarray] = ()
    ) -> tuple[list[Truth], list[str]]:
        """Outputs of `function` and their types, tuples flattened. Raises Unmodelled where it holds what no truth is made of.

        places: what a device gave for each operator that says where sorted values come from, in order; followed where rounding
        decides. They say nothing where they are not as many as the operators.
        """
        functions = {str(var.name_hint): found for var, found in self._module.functions_items()}
        plan = _Planner(functions).plan(function, inputs)
        asked = sum(isinstance(program, Operator) and gives_places(program) for program in plan.programs)
        places = places if len(places) == asked else ()
        key = result_cache.key_of("model truth", units, *plan.content(), *inputs, len(places), *places)
        truths: list[Truth] | None = result_cache.load(key, list[Truth])
        if truths is None:
            truths = _follow(plan, inputs, units, places)
            result_cache.store(key, list[Truth], truths)
        return truths, [plan.dtypes[number] for number in _flatten(plan.result)]


def _legalize_permutation(builder: Any, call: Any) -> Any:
    """The operator as TVM legalises it; of a constant, another constant: as a result weights would be doubles, twice as large."""
    array = constant_array(call.args[0])
    if array is None:
        return call.op.get_attr("FLegalize")(builder, call)
    axes = None if call.attrs.axes is None else [int(axis) for axis in call.attrs.axes]
    moved = tensor_of(spill(np.transpose(array, axes)))
    let_go()
    return import_tvm().relax.const(moved)


def _follow(plan: _Plan, inputs: Sequence[np.ndarray], units: Units, places: Sequence[np.ndarray]) -> list[Truth]:
    """The outputs of a planned function, call by call; a tensor is let go after its last use."""
    left = iter(places)
    programs = [program for program in plan.programs if isinstance(program, TruthProgram)]
    compiled = CompiledTruths(programs) if programs else None  # machine code lives as long as this
    tensors = {number: Truth(np.asarray(array)) for number, array in enumerate(inputs)}
    outputs = _flatten(plan.result)
    kept = set(outputs)
    for index, step in enumerate(plan.steps):
        for number in step.args:
            if number not in tensors:
                tensors[number] = Truth(plan.constants[number])
        program, given = plan.programs[step.program], [tensors[number] for number in step.args]
        if isinstance(program, Operator):
            kinds = [np.dtype(plan.dtypes[number]) for number in step.args] + [np.dtype(dtype) for _, dtype in step.results]
            found = run_operator(program, given, kinds, units, next(left, None) if gives_places(program) else None)
        else:
            assert compiled is not None
            found = _run(step, program, compiled.functions[program.name], given, units)
        tensors.update(enumerate(found, step.first))
        for number in step.args:
            if plan.last_use[number] == index and number not in kept:
                tensors.pop(number, None)
    return [tensors[number] if number in tensors else Truth(plan.constants[number]) for number in outputs]


def _run(step: _Step, program: TruthProgram, function: Function, given: Sequence[Truth], units: Units) -> list[Truth]:
    """The results of one step."""
    made = [Truth(np.zeros(shape, dtype)) for shape, dtype in step.results]
    args: list[Given] = list(given)
    for position, value in step.scalars:
        args.insert(position, value)
    first = len(args)
    found = run_program(program, function, [*args, *made, *step.sizes], units)[first : first + len(made)]
    return [empty if result is None else result for empty, result in zip(made, found, strict=True)]


def _flatten(place: Place) -> list[int]:
    return [place] if isinstance(place, int) else [number for item in place for number in _flatten(item)]


class _Planner:
    """Follows one Relax function without computing anything: which program runs when, on which tensors."""

    def __init__(self, functions: Mapping[str, Any]):
        self._functions = functions
        self._plan = _Plan()
        self._known: dict[tuple[str, tuple[int, ...], bool], tuple[int, TruthProgram]] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}
        self._symbols: dict[int, int] = {}

    def plan(self, name: str, inputs: Sequence[np.ndarray]) -> _Plan:
        function = self._functions[name]
        if read.kind(function) != "Function":
            raise Unmodelled(f"{name}, which is no Relax function")
        places: dict[int, Place] = {}
        for param, array in zip(function.params, inputs, strict=True):
            places[read.key(param)] = self._tensor(array.shape, array.dtype.name)
            self._bind(shape_values(read.type_of(param)), array.shape)
        self._plan.result = self._body(function.body, places)
        for index, step in enumerate(self._plan.steps):
            self._plan.last_use.update(dict.fromkeys(step.args, index))
        return self._plan

    def _tensor(self, shape: tuple[int, ...], dtype: str, exact: bool = True, native: bool = False) -> int:
        number = self._plan.add(dtype, exact, native)
        self._shapes[number] = shape
        return number

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
                if read.kind(binding) == "MatchCast" and isinstance(place, int):
                    self._bind(shape_values(read.type_of(binding.var)), self._shapes[place])
                places[read.key(binding.var)] = place
        return self._expression(body.body, places)

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
            number = self._tensor(array.shape, array.dtype.name)
            self._plan.constants[number] = array
            return number
        if kind == "Call":
            return self._call(node, places)
        raise Unmodelled(f"{kind} in the model")

    def _call(self, node: Any, places: dict[int, Place]) -> Place:
        if read.kind(node.op) == "GlobalVar":
            return self._inner(str(node.op.name_hint), node.args, places)
        if (known := read_call(node)) is not None:
            return self._operator(*known, node, places)
        if read.op_name(node) != "relax.call_tir":
            raise Unmodelled(f"calls of {read.op_name(node) or read.kind(node.op)} in the model")
        target, given, *more = node.args
        items = given.fields if read.kind(given) == "Tuple" else [given]
        scalars = tuple((position, self._size(item)) for position, item in enumerate(items) if self._is_size(item))
        tensors_given = [item for item in items if not self._is_size(item)]
        args = tuple(number for item in tensors_given for number in _flatten(self._expression(item, places)))
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
        self._plan.steps.append(_Step(number, args, made[0], results, sizes, scalars))
        return made if hasattr(out, "fields") else made[0]

    def _operator(self, operator: Operator, operands: Sequence[Any], node: Any, places: dict[int, Place]) -> Place:
        args = tuple(number for item in operands for number in _flatten(self._expression(item, places)))
        out = read.type_of(node)
        kinds = list(out.fields) if hasattr(out, "fields") else [out]
        results = tuple((self._sizes(shape_values(one) or []), str(one.dtype)) for one in kinds)
        native = any(self._plan.native[number] for number in args)
        made = tuple(self._tensor(shape, dtype, False, native and dtype in FLOATS) for shape, dtype in results)
        self._plan.steps.append(_Step(len(self._plan.programs), args, made[0], results, ()))
        self._plan.programs.append(operator)
        return made if hasattr(out, "fields") else made[0]

    def _inner(self, name: str, args: Sequence[Any], places: dict[int, Place]) -> Place:
        function = self._functions[name]
        inner = {read.key(param): self._expression(arg, places) for param, arg in zip(function.params, args, strict=True)}
        return self._body(function.body, inner)

    def _program(self, name: str, inexact: tuple[int, ...], drifts: bool) -> tuple[int, TruthProgram]:
        """A PrimFunc's program for arguments of which these are not exact, and its number; drifts: halves made some of them."""
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


_SIZES: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__, "Sub": int.__sub__, "Mul": int.__mul__, "FloorDiv": int.__floordiv__, "FloorMod": int.__mod__,
    "Max": max, "Min": min,
}  # fmt: skip
