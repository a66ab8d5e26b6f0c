"""Partitioning: which parts of a Relax module become subgraphs for OpenCL ML."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import UnsupportedError
from ...base.installed.install_line import install_line
from ...golden.subgraph import OperatorModule, Subgraph
from ...mlops.engine import check_graph
from ...mlops.graph import Graph
from ...mlops.kinds import kind_of
from ...mlops.policy import OffloadPolicy, flops
from ...profiles.ml import NEWEST, MLCapabilities
from ...records import dataclass
from ..artifact.model import OffloadDecision
from ..passes.fold_layouts import fold_layouts
from ..passes.private_function import inline_private_functions
from ..tvm_bridge import read
from ..tvm_bridge.pass_pipelines import clone
from ..tvm_bridge.versions import import_tvm, tvm_series
from . import codegen
from .dequant import dequant_table
from .fallback import fallback_decisions
from .inline import as_main, inline_functions, rename_functions
from .patterns import pattern_table
from .prepare import end_normalisations, transpose_weights

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.ir.transform import Pass

SERIES = "0.27"
"""The series of TVM whose passes and format this follows."""


def is_clml_runtime_enabled() -> bool:
    """Whether subgraphs of OpenCL ML can be compiled and run: by TVM's own runtime, or by the simulated one."""
    return codegen.is_tvms_runtime_enabled() or tvm_series() == SERIES


def require_series() -> None:
    """UnsupportedError for a TVM whose passes and graph format are others."""
    if tvm_series() != SERIES:
        raise UnsupportedError(
            f"unsupported: target clml: TVM {import_tvm().__version__}: OpenCL ML is supported with TVM {SERIES} "
            f"({install_line('tvm')})"
        )


def partition_for_clml(
    mod: IRModule, params: Mapping[str, np.ndarray] | None = None, policy: OffloadPolicy | None = None
) -> IRModule:
    """`mod` with what OpenCL ML takes in functions of their own (attribute Codegen = "openclml"), before code generation.

    params: of `main`, by name, bound as constants. policy: default = everything that the newest interface takes, whatever its
    size. RunCodegen then turns the functions into modules (`codegen.register`). Raises UnsupportedError on another TVM than 0.27.
    """
    require_series()
    if params:
        mod = import_tvm().relax.transform.BindParams("main", dict(params))(mod)
    chosen = policy or OffloadPolicy(capabilities=MLCapabilities(version=NEWEST), min_flops=0)
    return Offload(chosen).partition(mod)


@dataclass
class Offload:
    """One partitioning. Filled while it runs: decisions, and the subgraphs by name, for references."""

    policy: OffloadPolicy
    fold_batch_norm: bool = True
    decisions: list[OffloadDecision] = field(default_factory=list)
    subgraphs: dict[str, Subgraph] = field(default_factory=dict)

    def as_pass(self) -> Pass:
        """Partition and generate code, as one pass of a pipeline."""
        tvm = import_tvm()
        codegen.register()

        @tvm.transform.module_pass(opt_level=0, name="ClmlOffload")
        def offload(mod: Any, _: Any) -> Any:
            return tvm.relax.transform.RunCodegen()(self.partition(mod))

        return offload

    def partition(self, mod: IRModule) -> IRModule:
        tvm = import_tvm()
        transform = tvm.relax.transform
        table = pattern_table(self.policy.capabilities)
        fold = [transform.FoldBatchnormToConv2D()] if self.fold_batch_norm else []
        mod = inline_private_functions()(clone(mod))  # FuseOpsByPattern stops at a call of one
        packed = dequant_table(self.policy.capabilities, mod)
        passes = [
            transform.Normalize(), transform.FuseOpsByPattern(packed),  # before constants are folded
            transform.ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"]}), transform.Normalize(), *fold,
            end_normalisations(), fold_layouts(), transform.FoldConstant(), transpose_weights(),
            transform.FuseOpsByPattern(table), transform.MergeCompositeFunctions(),
        ]  # fmt: skip
        mod = tvm.transform.Sequential(passes)(mod)
        return self._choose(mod)

    def _choose(self, mod: IRModule) -> IRModule:
        """Inline the subgraphs that the policy rejects, and record a decision for each."""
        kept = []
        mod = _number_subgraphs(mod)
        for name, function in sorted(_subgraphs(mod), key=lambda pair: (len(pair[0]), pair[0])):
            graph, operators = codegen.operators_of(function, _Names())
            check_graph(graph, self.policy.capabilities)
            worth, why = self.policy.decide(graph)
            self.decisions.append(OffloadDecision(name, tuple(_kinds(graph)), flops(graph), worth, why))
            if worth:
                alones = tuple(OperatorModule(node, inputs, as_main(f, mod)) for node, inputs, f in operators)
                self.subgraphs[name] = Subgraph(as_main(function, mod), alones)
            else:
                kept.append(name)
        mod = inline_functions(mod, set(kept))
        self.decisions += fallback_decisions(mod, self.policy.capabilities, self.subgraphs)
        return mod


def _subgraphs(mod: IRModule) -> Iterator[tuple[str, Any]]:
    for var, function in mod.functions_items():
        if function.attrs is not None and str(function.attrs.get("Codegen", "")) == codegen.CODEGEN:
            yield str(var.name_hint), function


def _number_subgraphs(mod: IRModule) -> IRModule:
    """Rename subgraphs to clml_0, clml_1, ... in call order. TVM's names list all operators and grow without bound."""
    tvm = import_tvm()
    names = {name for name, _ in _subgraphs(mod)}
    called: dict[str, None] = {}

    def visit(expr: Any) -> None:
        if read.kind(expr) == "Call" and read.kind(expr.op) == "GlobalVar" and expr.op.name_hint in names:
            called[str(expr.op.name_hint)] = None

    for _, function in sorted(mod.functions_items(), key=lambda item: str(item[0].name_hint) != "main"):
        if isinstance(function, tvm.relax.Function):
            tvm.relax.analysis.post_order_visit(function, visit)
    taken = {str(var.name_hint) for var, _ in mod.functions_items()} - names
    numbers = (f"clml_{number}" for number in itertools.count())
    fresh = (name for name in numbers if name not in taken)
    return rename_functions(mod, {name: next(fresh) for name in called})


def _kinds(graph: Graph) -> list[str]:
    return [kind_of(node.name) for _, node in graph.of("kernel")]


class _Names(defaultdict[int, str]):
    """Makes up a name for each constant at first access."""

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: int) -> str:
        self[key] = f"constant{len(self)}"
        return self[key]
