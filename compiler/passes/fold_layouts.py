"""Constant folding in NumPy, ahead of TVM's, which compiles and runs a CPU function for every constant it folds.

No fix: the results are the same values. On networks with many weights it is most of the compile time (layout
transforms of convolution weights, batch normalisation parameters).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...memory.spilled import drop_resident_pages, spill
from ..tvm_bridge.read import dtype_of
from ..tvm_bridge.tensors import constant_array, tensor_of
from ..tvm_bridge.versions import import_tvm, shape_values, type_of

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

ARITHMETIC: dict[str, Callable[..., np.ndarray]] = {
    "relax.add": np.add,
    "relax.subtract": np.subtract,
    "relax.multiply": np.multiply,
    "relax.divide": np.divide,
    "relax.sqrt": np.sqrt,
    "relax.negative": np.negative,
    "relax.isnan": np.isnan,
}
"""Operators that IEEE arithmetic defines to the last bit."""

RESHAPES = ("relax.reshape", "relax.expand_dims", "relax.squeeze")


def fold_layouts() -> Pass:
    """Relax pass: calls of ARITHMETIC, RESHAPES, permute_dims and layout_transform on constants become constants."""
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        for var, func in mod.functions_items():
            if isinstance(func, tvm.relax.Function):
                mod[var] = _fold_mutator()(mod).visit_expr(func)
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.FoldLayouts")


def fold_given_functions() -> Pass:
    """Relax pass, before targets are bound: calls of a module's own PrimFuncs on constants become constants.

    An importer makes such functions, for example of an ONNX Clip. Later TVM's FoldConstant compiles them for the target that they
    are bound to, and runs them on the CPU: "expected opencl".
    """
    tvm = import_tvm()
    folding = tvm.transform.Sequential([fold_layouts(), tvm.relax.transform.FoldConstant()])

    def transform(mod: Any, _ctx: Any) -> Any:
        functions = [func for _, func in mod.functions_items() if isinstance(func, tvm.relax.Function)]
        return folding(mod) if any(map(_calls_on_constants, functions)) else mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.FoldGivenFunctions")


def _calls_on_constants(function: Any) -> bool:
    """Whether a function calls a PrimFunc on nothing but constants, or on what is computed from constants alone."""
    relax = import_tvm().relax
    known: set[int] = set()

    def is_known(arg: Any) -> bool:
        if isinstance(arg, relax.Tuple):
            return all(map(is_known, arg.fields))
        return int(arg.__chandle__()) in known if isinstance(arg, relax.Var) else not isinstance(arg, relax.Call)

    for block in getattr(function.body, "blocks", ()):
        for binding in block.bindings:
            value: Any = getattr(binding, "value", None)
            is_call = isinstance(value, relax.Call) and isinstance(value.op, import_tvm().ir.Op)
            if is_call and all(map(is_known, value.args[1:] if value.op.name == "relax.call_tir" else value.args)):
                if value.op.name == "relax.call_tir":
                    return True
                known.add(int(binding.var.__chandle__()))
    return False


@functools.cache  # TVM keeps the class of each mutator
def _fold_mutator() -> Any:
    tvm = import_tvm()
    relax = tvm.relax

    class Fold(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.known: dict[int, np.ndarray] = {}

        def visit_var_binding_(self, binding: Any) -> None:
            arrays = self.operands(binding.value)
            made = None if arrays is None else evaluate(binding.value, arrays)
            if made is None:
                super().visit_var_binding_(binding)
                return
            value = spill(made)
            self.known[int(binding.var.__chandle__())] = value
            constant = self.builder_.normalize(relax.const(tensor_of(value)))
            drop_resident_pages()
            self.builder_.emit_normalized(relax.VarBinding(binding.var, constant))

        def operands(self, call: Any) -> list[np.ndarray] | None:
            """The arrays of a call's tensor operands, None unless every one is known."""
            if not isinstance(getattr(call, "op", None), tvm.ir.Op):
                return None
            found: list[np.ndarray] = []
            for arg in call.args:
                array = constant_array(arg)
                if array is None and isinstance(arg, relax.Var):
                    array = self.known.get(int(arg.__chandle__()))
                if isinstance(arg, tvm.tirx.FloatImm):
                    array = np.asarray(arg.value, dtype_of(arg))
                if array is not None:
                    found.append(array)
                elif not isinstance(arg, relax.ShapeExpr):
                    return None
            return found or None

    return relax.expr_functor.mutator(Fold)


def evaluate(call: Any, arrays: list[np.ndarray]) -> np.ndarray | None:
    """The value of a call on these operands, None for an operator that is not folded here."""
    name = str(call.op.name)
    if name in ARITHMETIC and all(array.dtype == arrays[0].dtype and array.dtype.kind == "f" for array in arrays):
        return np.asarray(ARITHMETIC[name](*arrays))
    if name == "relax.where":
        return np.where(*arrays)
    shape = shape_values(type_of(call))
    if shape is None or not all(isinstance(size, import_tvm().tirx.IntImm) for size in shape):
        return None
    sizes = tuple(int(size) for size in shape)
    if name in RESHAPES:
        return arrays[0].reshape(sizes)
    if name == "relax.permute_dims":
        axes = call.attrs.axes
        return np.transpose(arrays[0], None if axes is None else [int(axis) for axis in axes])
    return _transform_layout(call, arrays[0], sizes) if name == "relax.layout_transform" else None


def _transform_layout(call: Any, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """`array` moved to where the index map of a layout_transform sends it; None if that leaves padding."""
    if int(np.prod(shape)) != array.size:
        return None
    grid: tuple[np.ndarray, ...] = np.indices(array.shape, sparse=True)
    where = apply_index_map(call.attrs.index_map, grid)
    if where is None:
        return None
    if (view := split_and_permute(array, where, shape)) is not None:
        return view
    result = np.empty(shape, array.dtype)
    result[tuple(np.broadcast_arrays(*where))] = array
    return result


def split_and_permute(array: np.ndarray, where: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray | None:
    """A view of `array` in a layout of this shape that only splits axes and exchanges them; None for another one.

    where: for each axis of the result the index of every element, arrays that broadcast.
    """
    parts: list[list[int]] = [[] for _ in array.shape]
    single = [axis for axis, size in enumerate(shape) if size == 1]
    if any(np.any(where[axis]) for axis in single):
        return None
    for axis in range(len(shape)):
        varies = [origin for origin, size in enumerate(np.shape(where[axis])) if size > 1]
        if axis not in single:
            if len(varies) != 1:
                return None
            parts[varies[0]].append(axis)
    for origin, size in enumerate(array.shape):
        parts[origin].sort(key=lambda axis: int(np.argmax(where[axis].reshape(-1) != 0)), reverse=True)  # the slowest first
        digits, sizes = [where[axis].reshape(-1) for axis in parts[origin]], [shape[axis] for axis in parts[origin]]
        if int(np.prod(sizes)) != size or any(np.any(d < 0) or np.any(d >= n) for d, n in zip(digits, sizes, strict=True)):
            return None
        if digits and not np.array_equal(np.ravel_multi_index(digits, sizes), np.arange(size)):
            return None
    order = [*(axis for part in parts for axis in part), *single]
    return array.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))


def apply_index_map(index_map: Any, axes: Sequence[np.ndarray] | None) -> list[np.ndarray] | None:
    """Where an index map sends the indices in `axes`, arrays that broadcast; None if it is not integer arithmetic."""
    if axes is None or len(axes) != len(index_map.initial_indices):
        return None
    axis_of = {int(var.__chandle__()): axis for var, axis in zip(index_map.initial_indices, axes, strict=True)}
    where = [_index(expr, axis_of) for expr in index_map.final_indices]
    return None if any(index is None for index in where) else where


_INTEGER = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "FloorDiv": np.floor_divide, "FloorMod": np.mod}


def _index(expr: Any, axis_of: dict[int, np.ndarray]) -> Any:
    """An index expression over whole axes; None if it holds anything but integer arithmetic on the axes."""
    kind = type(expr).__name__
    if kind == "IntImm":
        return np.int64(int(expr))
    if kind == "Var":
        return axis_of.get(int(expr.__chandle__()))
    if kind not in _INTEGER:
        return None
    left, right = _index(expr.a, axis_of), _index(expr.b, axis_of)
    return None if left is None or right is None else _INTEGER[kind](left, right)
