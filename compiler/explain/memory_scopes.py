"""What the scoping of a model did, as data: every tensor's wishes and scope, every copy, every kernel's scopes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from ..importers.fixed_inputs import Values
from ..importers.load import load_model
from ..lower.compile_options import CompileOptions
from ..lower.pipeline import select_fixes
from ..lower.targets import TargetLike, make_target, target_text
from ..memory_scopes.decision import Decision, decide
from ..memory_scopes.demand import Limits, bindings, callee, collect, op_name, operands
from ..memory_scopes.invariants import Violation, violations
from ..memory_scopes.rules import is_texture
from ..memory_scopes.scoping import RULES, TVMS, Scoping
from ..memory_scopes.scoping_passes import find_settle
from ..tvm_bridge.read import key, kind, memory_scope
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, shape_values, type_of, var_name
from .scope_stages import LAST, StagedModule, run_stages

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.target import Target

SCHEMA = "adreno-sim/scopes/1"


@dataclass(frozen=True)
class Wish:
    """A consumer: what it calls, the name of its result, which operand, the scope it asks for."""

    consumer: str
    result: str
    operand: int
    scope: str


@dataclass(frozen=True)
class TensorScope:
    """A tensor as DefineVDevice sees it. scope: decided. why: the reason, for one that is in a buffer."""

    name: str
    producer: str
    shape: tuple[str, ...]
    dtype: str
    scope: str
    wishes: tuple[Wish, ...]
    why: str = ""

    @property
    def contested(self) -> bool:
        return len({wish.scope for wish in self.wishes}) > 1


@dataclass(frozen=True)
class ScopeCopy:
    """A copy between scopes, and who reads it."""

    source: str
    name: str
    shape: tuple[str, ...]
    origin: str
    to: str
    readers: tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """A call of the final module: its function, result, and the scope of every operand and result."""

    function: str
    result: str
    operands: tuple[tuple[str, str], ...]
    scopes: tuple[str, ...]


@dataclass(frozen=True)
class RuleResult:
    """What a rule makes of a model: results of the final module's calls that are textures, copies left and the elements that
    they move, and the scope of every tensor that consumers disagree about."""

    rule: str
    textures: int
    copies: int
    copied_elements: int
    contested: dict[str, str]


@dataclass(frozen=True)
class ConstantScope:
    """Weights of a convolution that are a constant: who reads them, and the scope in which they are uploaded once."""

    reader: str
    shape: tuple[str, ...]
    dtype: str
    scope: str


@dataclass(frozen=True)
class ScopeReport:
    """Everything about one model. inserted: copies after RealizeVDevice; left: those of the final module. compared: every rule,
    where consumers disagree; elsewhere all rules decide alike. weights: where weights were asked to lie; constants: where
    those of packed convolutions do."""

    model: str
    target: str
    pipeline: str
    rule: str
    stages: tuple[str, ...]
    tensors: tuple[TensorScope, ...]
    inserted: tuple[ScopeCopy, ...]
    left: tuple[ScopeCopy, ...]
    calls: tuple[Call, ...]
    violations: tuple[Violation, ...]
    compared: tuple[RuleResult, ...] = ()
    weights: str = "buffer"
    constants: tuple[ConstantScope, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; an unnecessary copy only costs time."""
        return not any(violation.severity == "error" for violation in self.violations)

    @property
    def counts(self) -> dict[str, int]:
        """Results of the final module's calls by scope."""
        return dict(Counter(scope for call in self.calls for scope in call.scopes))

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "ok": self.ok,
            "counts": self.counts,
            "removed": len(self.inserted) - len(self.left),
            **asdict(self),
        }


def scope_stages(
    source: Any,
    *,
    target: TargetLike = "texture",
    pipeline: str = "fixed",
    rule: str = "tvm",
    weights: str = "buffer",
    limits: Any = None,
    shapes: Any = None,
    input_values: Values | None = None,
) -> tuple[StagedModule, ScopeReport]:
    """Run the scoping of a model (as `check` takes it, no bundle) and report it.

    shapes, input_values: as of CompileOptions. limits: of the device, so that no texture is chosen that it cannot hold.
    Raises AdrenoSimError, UnsupportedError.
    """
    CompileOptions.of({"target": target, "pipeline": pipeline}, None)
    model = load_model(source, shapes, values=input_values)
    made, fixes = make_target(target, limits), select_fixes(pipeline, ())
    staged = run_stages(model.module, made, fixes, rule, weights)
    compared: tuple[RuleResult, ...] = ()
    if any(decision.contested for decision in staged.decisions):
        runs = {name: staged if name == rule else run_stages(model.module, made, fixes, name, weights) for name in RULES}
        compared = tuple(_rule_result(name, run) for name, run in runs.items())
    return staged, _report(staged, model.name, target_text(target), pipeline, rule, weights, compared)


def _rule_result(rule: str, staged: StagedModule) -> RuleResult:
    scopes = [scope for call in _calls(staged.final) for scope in call.scopes]
    copies = list(_copies(staged.final))
    return RuleResult(
        rule,
        sum(map(is_texture, scopes)) - sum(is_texture(copy.to) for copy in copies),
        len(copies),
        sum(math.prod(int(size) if size.isdigit() else 1 for size in copy.shape) for copy in copies),
        {var_name(decision.var): decision.scope for decision in staged.decisions if decision.contested},
    )


def decided_tensors(module: IRModule, target: Target, scoping: Scoping = TVMS) -> list[TensorScope]:
    """Every tensor of a module as DefineVDevice sees it, and the scopes it chooses, without running a stage."""
    limits = Limits.of(target, scoping.weights)
    decisions: list[Decision] = []
    for function in _functions(module):
        decisions += decide(function, collect(module, function, limits), find_settle(scoping)).values()
    return list(map(_tensor, decisions))


def _report(
    staged: StagedModule, model: str, target: str, pipeline: str, rule: str, weights: str, compared: tuple[RuleResult, ...]
) -> ScopeReport:
    return ScopeReport(
        model, target, pipeline, rule, tuple(staged.modules),
        tuple(map(_tensor, staged.decisions)),
        tuple(_copies(staged.at("RemoveRedundantAssignments"))),
        tuple(_copies(staged.final)),
        tuple(_calls(staged.at(LAST))),
        tuple(violations(staged.final)),
        compared, weights, tuple(_weights(staged)),
    )  # fmt: skip


def _weights(staged: StagedModule) -> Iterator[ConstantScope]:
    """Constants of five dimensions that calls of the final module read: packed weights."""
    for function in _functions(staged.final):
        for binding in bindings(function):
            value = getattr(binding, "value", None)
            if value is None or kind(value) != "Call" or op_name(value) != "relax.call_tir":
                continue
            for arg in operands(value):
                if constant_array(arg) is not None and len(_shape(type_of(arg))[0]) == 5:
                    shape, dtype = _shape(type_of(arg))
                    yield ConstantScope(callee(value), shape, dtype, memory_scope(type_of(arg)))


def _tensor(decision: Decision) -> TensorScope:
    ty = type_of(decision.var)
    shape, dtype = _shape(ty)
    wishes = tuple(Wish(ask.callee, ask.result, ask.operand, ask.scope) for ask in decision.asks)
    return TensorScope(var_name(decision.var), decision.callee, shape, dtype, decision.scope, wishes, _why(decision, shape))


def _shape(ty: Any) -> tuple[tuple[str, ...], str]:
    """Sizes as text, and dtype; of a tuple, those of its first field."""
    fields = getattr(ty, "fields", None)
    if fields:
        return _shape(fields[0])
    return tuple(map(_size, shape_values(ty) or ())), str(ty.dtype)


def _size(value: Any) -> str:
    return str(int(value)) if kind(value) == "IntImm" else str(value)


def _why(decision: Decision, shape: Sequence[str]) -> str:
    """Why a tensor is not a texture."""
    if is_texture(decision.scope):
        return ""
    if not decision.asks:
        return "no call reads it"
    if len(shape) != 5 or shape[4] != "4":
        return "not a 5-d shape whose last dimension is 4, as NCHW4c"
    wanting = [ask for ask in decision.asks if is_texture(ask.scope)]
    if wanting:
        return "consumers disagree: " + ", ".join(f"{ask.callee} asks for {ask.scope}" for ask in decision.asks)
    return "its consumers read buffers, or it fits no texture: " + ", ".join(sorted({ask.callee for ask in decision.asks}))


def _functions(module: IRModule) -> Iterator[Any]:
    relax = import_tvm().relax
    for _, function in module.functions_items():
        if isinstance(function, relax.Function) and not (function.attrs and "Primitive" in function.attrs):
            yield function


def _copies(module: IRModule) -> Iterator[ScopeCopy]:
    for function in _functions(module):
        readers: dict[int, list[str]] = {}
        copies = []
        for binding in bindings(function):
            value = getattr(binding, "value", None)
            if value is None or kind(value) != "Call":
                continue
            if op_name(value) == "relax.to_vdevice":
                copies.append((binding.var, value))
            for operand in operands(value):
                readers.setdefault(key(operand), []).append(callee(value))
        for var, value in copies:
            source = value.args[0]
            name = var_name(source) if kind(source) in ("Var", "DataflowVar") else "constant"
            to = str(value.attrs.dst_vdevice.memory_scope)
            shape, _ = _shape(type_of(var))
            yield ScopeCopy(name, var_name(var), shape, memory_scope(type_of(source)), to, tuple(readers.get(key(var), ())))


def _calls(module: IRModule) -> Iterator[Call]:
    for function in _functions(module):
        for binding in bindings(function):
            value = getattr(binding, "value", None)
            if value is None or kind(value) != "Call":
                continue
            named = tuple(
                (var_name(arg) if kind(arg) in ("Var", "DataflowVar") else "constant", memory_scope(type_of(arg)))
                for arg in operands(value)
                if kind(type_of(arg)) in ("TensorType", "TensorStructInfo")
            )
            ty = type_of(binding.var)
            fields = getattr(ty, "fields", None)
            scopes = tuple(memory_scope(field) for field in fields) if fields is not None else (memory_scope(ty),)
            yield Call(callee(value), var_name(binding.var), named, scopes)
