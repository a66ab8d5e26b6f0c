"""Writes decided scopes into a module: virtual devices in the types of results, a device hint around every operand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..tvm_bridge.read import key, memory_scope
from ..tvm_bridge.versions import import_tvm, shape_values, tvm_series, type_of
from .decision import Decision, Settle, choose_last, decide
from .demand import Demand, Limits, collect, is_tensor, op_name, operands

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

Watch = Callable[[Demand, dict[int, Decision]], None]


def define_vdevice(target: Any, settle: Settle = choose_last, watch: Watch | None = None, weights: str = "buffer") -> Pass:
    """Module pass: decide scopes and write them down. `watch` sees each function's demand and decisions. weights: of WEIGHTS.

    Constants get a type with the scope of their first use, as new nodes (TVM's own pass changes them in place).
    """
    tvm = import_tvm()

    def transform(mod: Any, _ctx: Any) -> Any:
        devices = Devices(target)
        limits = Limits.of(target, weights)
        decided = {}
        for var, function in mod.functions_items():
            if not isinstance(function, tvm.relax.Function) or _is_primitive(function):
                continue
            demand = collect(mod, function, limits)
            decisions = decide(function, demand, settle)
            if watch is not None:
                watch(demand, decisions)
            decided[var] = _mutator(mod, demand, decisions, devices).visit_expr(function)
        for var, function in decided.items():
            mod.update_func(var, function)
        mod.update_global_info("vdevice", devices.all)
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name="adreno_sim.DefineVDevice")


def _is_primitive(function: Any) -> bool:
    return bool(function.attrs) and "Primitive" in function.attrs and bool(function.attrs["Primitive"])


class Devices:
    """The module's virtual devices: one per scope, all on the target's device 0."""

    def __init__(self, target: Any):
        self.target = target
        self._by_scope: dict[str, Any] = {}

    def of(self, scope: str) -> Any:
        if scope not in self._by_scope:
            tvm = import_tvm()
            make = tvm.relax.VDevice if tvm_series() == "0.27" else tvm.ir.VDevice
            self._by_scope[scope] = make(self.target, 0, scope)
        return self._by_scope[scope]

    @property
    def all(self) -> list[Any]:
        return list(self._by_scope.values())


def with_device(kind_: Any, device: Any) -> Any:
    """A tensor type, or a tuple of them, on a virtual device."""
    relax = import_tvm().relax
    older = tvm_series() == "0.25"
    fields = getattr(kind_, "fields", None)
    if fields is not None:
        return (relax.TupleStructInfo if older else relax.TupleType)([with_device(field, device) for field in fields])
    shape = shape_values(kind_)
    return (relax.TensorStructInfo if older else relax.TensorType)(shape, str(kind_.dtype), device)


def _mutator(mod: Any, demand: Demand, decisions: dict[int, Decision], devices: Devices) -> Any:
    tvm = import_tvm()
    relax = tvm.relax
    device = tvm.opencl(0)

    class Define(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.constants: dict[int, Any] = {}

        def visit_call_(self, call: Any) -> Any:
            decision = decisions.get(key(call))
            results = list(_type_arguments(call))
            if decision is not None:
                results = [with_device(type_of(decision.var), devices.of(decision.scope))]
            scopes = iter(demand.by_call[key(call)])
            args = [self.operand(arg, scopes) for arg in operands(call)]
            if op_name(call) == "relax.call_tir":
                args = [call.args[0], relax.Tuple(args), *call.args[2:]]
            return self.builder_.normalize(relax.Call(call.op, args, call.attrs, results))

        def operand(self, old: Any, scopes: Iterator[str]) -> Any:
            """A call's operand on the device it asks for. The call is not made before all are: its type would not fit."""
            arg = self.visit_expr(old)
            return self.hint(old, arg, next(scopes)) if is_tensor(old) else arg

        def hint(self, old: Any, arg: Any, scope: str) -> Any:
            if not isinstance(old, relax.Var):
                known = self.constants.get(key(old))
                if known is None:
                    known = self.constants[key(old)] = with_scope(old, devices.of(scope))
                if memory_scope(type_of(known)) == scope:
                    return known
                arg = known
            devices.of(scope)
            return relax.op.hint_on_device(arg, device, scope)

    return relax.expr_functor.mutator(Define)(mod)


def _type_arguments(call: Any) -> Any:
    return call.sinfo_args if tvm_series() == "0.25" else call.ty_args


def with_scope(node: Any, device: Any) -> Any:
    """A constant over the same data whose type names the device."""
    tvm = import_tvm()
    if tvm_series() == "0.27":
        return tvm.ir.GenericConst(node.value, with_device(type_of(node), device))
    return tvm.relax.Constant(node.data, with_device(type_of(node), device))
