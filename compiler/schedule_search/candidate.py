"""A candidate as something that runs: a scheduled PrimFunc, compiled alone as a model whose inputs are flat buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from ..artifact.host_function import HostFunction
from ..artifact.model import CompiledModel
from ..extract.module import extract
from ..lower.pipeline import PipelineName, lower
from ..lower.targets import make_target
from ..schedule_database.tasks import params_of
from ..tvm_bridge.versions import import_tvm, tensor_type, tvm_series
from .launch_shapes import LaunchShape, launch_shapes

if TYPE_CHECKING:
    from tvm import IRModule

TASK = "task"
"""Name of the function in the module around it."""


@dataclass(frozen=True)
class Candidate:
    """compiled: takes all parameters of the function but the last, and returns that. launches: their shapes."""

    compiled: CompiledModel
    launches: tuple[LaunchShape, ...]

    @property
    def host(self) -> HostFunction:
        return self.compiled.host_functions[TASK]


def compile_function(
    function: Any,
    *,
    scheduled: bool = True,
    pipeline: PipelineName = "fixed",
    without_fix: Sequence[str] = (),
    limits: Mapping[str, Any] | None = None,
) -> Candidate:
    """Compile a PrimFunc of flat buffers for OpenCL; no device is needed.

    scheduled: it is; else the pipeline's own rules schedule it. The target is the buffer one in any case: on the other, TVM would
    choose scopes for the arguments again. UnsupportedError if TVM fails.
    """
    module = _module_around(function, scheduled)
    lowered = lower(module, make_target("buffer", limits), pipeline, tuple(without_fix))
    compiled = extract(lowered, TASK)
    return Candidate(compiled, tuple(launch_shapes(compiled.host_functions[TASK], lowered.tir)))


def _module_around(function: Any, scheduled: bool) -> IRModule:
    relax = import_tvm().relax
    types = [tensor_type([int(size) for size in info.shape], info.dtype) for info in params_of(function)]
    inputs = [relax.Var(f"input_{number}", ty) for number, ty in enumerate(types[:-1])]
    function = function.with_attr("global_symbol", TASK)
    if scheduled:
        function = function.with_attr("tirx.is_scheduled", True)
    builder = relax.BlockBuilder()
    var = builder.add_func(function, TASK)
    kind = "out_sinfo" if tvm_series() == "0.25" else "out_ty"
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(relax.call_tir(var, inputs, **{kind: types[-1]}))
        builder.emit_func_output(result)
    return builder.get()
