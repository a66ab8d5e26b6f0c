"""A model of any source as a Relax module: its inputs, the function that is entered, sizes and values that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ...records import dataclass
from ..tvm_bridge.versions import import_tvm, shape_values, type_of, var_name
from .fixed_inputs import Values, fill, require_inputs

if TYPE_CHECKING:
    import numpy as np
    from tvm import IRModule

    from ...golden.onnx_model import OnnxModel

Shapes = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class ModelInput:
    """One input of the model. shape: int, or the name of a symbolic dimension; dtype: numpy name.

    bounds: smallest and largest value of an integer input, where a compiled model says them.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    bounds: tuple[int, int] | None = None

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the symbolic dimensions."""
        return tuple(size for size in self.shape if isinstance(size, str))


@dataclass(frozen=True)
class Model:
    """A model ready to lower.

    module: Relax, function "main" whose parameters are `inputs`, in that order. onnx: the plain ONNX graph `module` was
    made from, with the same inputs by name, for ONNX Runtime to judge; torch: the program it was made from, for
    PyTorch to judge; each None for other sources.
    seeded: names of weights the file left open, filled from the seed. fixed: inputs of `torch` that `inputs` lacks because they
    were given values, by position.
    """

    name: str
    module: IRModule
    inputs: tuple[ModelInput, ...]
    onnx: OnnxModel | None = None
    seeded: tuple[str, ...] = ()
    torch: Any = None
    fixed: Mapping[int, np.ndarray] = field(default_factory=dict)

    def arguments(self, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """What `torch` takes: the arrays of `inputs`, in that order, and those that are fixed."""
        found = list(arrays.values())
        for position in sorted(self.fixed):
            found.insert(position, self.fixed[position])
        return found


def is_relax_module(source: object) -> bool:
    return isinstance(source, import_tvm().IRModule)


def from_module(module: Any, name: str, shapes: Shapes | None = None, entry: str = "", values: Values | None = None) -> Model:
    """A Model of a Relax IRModule. `shapes` bind symbolic dimensions, `values` inputs.

    AdrenoSimError if it has no Relax function to enter, or for what does not fit.
    """
    tvm = import_tvm()
    if not is_relax_module(module):
        raise AdrenoSimError(f"model of type {type(module).__name__}: expected a path, an ONNX model or a Relax IRModule")
    module = enter(module, entry)
    inputs = module_inputs(module)
    if shapes:
        module = _bind_shapes(module, inputs, shapes)
        inputs = module_inputs(module)
    if not values:
        return Model(name, module, inputs)
    fixed = fixed_arrays(inputs, values)
    constants = {inputs[position].name: tvm.relax.const(array) for position, array in fixed.items()}
    module = tvm.relax.transform.BindParams("main", constants)(module)
    return Model(name, module, module_inputs(module), fixed=fixed)


def fixed_arrays(inputs: Sequence[ModelInput], values: Values) -> dict[int, np.ndarray]:
    """The inputs that have values, by position. AdrenoSimError for a name, a shape or a number that does not fit."""
    import numpy as np

    require_inputs(values, [item.name for item in inputs])
    found: dict[int, np.ndarray] = {}
    for position, item in enumerate(inputs):
        if item.name in values:
            if item.symbols:
                shape = "x".join(map(str, item.shape))
                raise AdrenoSimError(f"value given for input {item.name!r}, which is {shape}: give its shape too (--shape)")
            sizes = [size for size in item.shape if isinstance(size, int)]
            found[position] = fill(item.name, values[item.name], sizes, np.dtype(item.dtype))
    return found


def is_prim_func(function: object) -> bool:
    return isinstance(function, import_tvm().tirx.PrimFunc)


def require_prim_func(function: object) -> None:
    """Raise AdrenoSimError for anything but a PrimFunc."""
    if not is_prim_func(function):
        raise AdrenoSimError(f"kernel of type {type(function).__name__}: expected a TIR PrimFunc, as T.prim_func makes one")


UNUSED_BUT_PUBLIC = "_initialize_effect"
"""What `relax.frontend.nn` adds to a module: it makes the effects of a debugging run."""


def enter(module: Any, entry: str = "") -> Any:
    """The module with the function `entry` as its main, and what that does not need left out; "" = main, with all there is, or
    the only function.

    AdrenoSimError if there is no such function, or several and none is named.
    """
    tvm = import_tvm()
    relax = {var.name_hint: var for var, function in module.functions_items() if isinstance(function, tvm.relax.Function)}
    public = list(public_functions(module))
    wanted = entry or ("main" if "main" in relax else public[0] if len(public) == 1 else "")
    if not entry and wanted == "main":
        return module
    if wanted not in relax:
        found = ", ".join(_function_text(var, function) for var, function in module.functions_items()) or "none"
        hint = "; call PrimFuncs from one with R.call_tir" if "a PrimFunc" in found else ""
        hint = f"; name one of {', '.join(public)} (--entry)" if public else hint
        raise AdrenoSimError(f"the module has no Relax function {wanted or 'main'!r}; its functions are {found}{hint}")
    needed = _needed_by(module, wanted)
    if needed & {wanted, "main"}:
        caller = "itself" if wanted in needed else "main"
        raise AdrenoSimError(f"entry {wanted} calls {caller}: expected a function that has no calls of the entry or of main")
    kept = {var: function for var, function in module.functions_items() if var.name_hint in needed}
    main = module[wanted].with_attr("global_symbol", "main")
    return tvm.IRModule({**kept, "main": main}, attrs=module.attrs, global_infos=module.global_infos)


def public_functions(module: Any) -> dict[str, Any]:
    """The Relax functions of a module that are called from outside, by name."""
    relax = {str(var.name_hint): f for var, f in module.functions_items() if isinstance(f, import_tvm().relax.Function)}
    public = {name: f for name, f in relax.items() if f.attrs and "global_symbol" in f.attrs}
    return {name: f for name, f in public.items() if name != UNUSED_BUT_PUBLIC}


def _needed_by(module: Any, entry: str) -> set[str]:
    """Names of the functions that `entry` calls, and those call."""
    relax = import_tvm().relax
    found: set[str] = set()
    open_ = [entry]
    while open_:
        function = module[open_.pop()]
        called = relax.analysis.all_global_vars(function) if isinstance(function, relax.Function) else []
        fresh = {var.name_hint for var in called} - found
        found |= fresh
        open_ += fresh
    return found


def _function_text(var: Any, function: Any) -> str:
    """A function's name and what it is."""
    return f"{var.name_hint} (a {'Relax function' if isinstance(function, import_tvm().relax.Function) else 'PrimFunc'})"


def _bind_shapes(module: Any, inputs: Sequence[ModelInput], shapes: Shapes) -> Any:
    """Replace symbolic dimensions by the sizes in `shapes`."""
    by_name = {item.name: item for item in inputs}
    bound: dict[str, int] = {}
    for name, given in shapes.items():
        item = by_name.get(name)
        if item is None:
            raise AdrenoSimError(f"shape given for {name!r}, but the inputs are {', '.join(by_name)}")
        text = "x".join(map(str, given))
        if len(given) != len(item.shape):
            raise AdrenoSimError(f"shape {text} does not fit input {name!r}, which is {'x'.join(map(str, item.shape))}")
        for size, dim in zip(given, item.shape, strict=True):
            fits = bound.setdefault(dim, size) == size if isinstance(dim, str) else dim == size
            if not fits or size <= 0:
                raise AdrenoSimError(f"shape {text} does not fit input {name!r}, which is {'x'.join(map(str, item.shape))}")
    return import_tvm().relax.transform.BindSymbolicVars(bound, "main")(module) if bound else module


def module_inputs(module: IRModule) -> tuple[ModelInput, ...]:
    """Parameters of "main". AdrenoSimError for one that is not a tensor of known rank and dtype."""
    tvm = import_tvm()
    found: list[ModelInput] = []
    for param in module["main"].params:
        kind = type_of(param)
        shape = shape_values(kind)
        if shape is None or not str(getattr(kind, "dtype", "")):
            raise AdrenoSimError(f"parameter {var_name(param)!r} of main: expected a tensor of known shape and dtype, got {kind}")
        sizes = tuple(int(size) if isinstance(size, tvm.tirx.IntImm) else str(size) for size in shape)
        found.append(ModelInput(var_name(param), sizes, str(kind.dtype)))
    return tuple(found)
