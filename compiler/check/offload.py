"""Reports the subgraphs that ran as OpenCL ML and the operators that fell back to TVM's kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...device.protocol import DeviceInfo, MLProgram
from ...mlops.kinds import kind_of
from ...results.model import FallbackReport, SubgraphReport
from ..artifact.model import CompiledModel
from ..artifact.vm_function import Reg, RunStep
from ..artifact.vm_registers import walk

if TYPE_CHECKING:
    from ...mlops.engine import GraphRun


def offload_report(
    model: CompiledModel, runs: Mapping[str, tuple[MLProgram, GraphRun]], info: DeviceInfo
) -> tuple[list[SubgraphReport], list[FallbackReport]]:
    """The subgraphs that ran, with the copies of their last run, and the operators that fell back."""
    chosen = {decision.name: decision for decision in model.offload if decision.offloaded}
    subgraphs = []
    for name, (program, run) in runs.items():
        plan, decision = program.plan, chosen.get(name)
        subgraphs.append(
            SubgraphReport(
                name=name,
                operators=tuple(kind_of(node.name) for _, node in program.graph.of("kernel")),
                flops=decision.flops if decision else 0,
                reason=decision.reason if decision else "",
                interface=info.ml.version if info.ml else 1,
                copies_in=run.copies_in,
                copies_out=run.copies_out,
                copied_bytes=run.copied_bytes,
                bound=run.bound,
                on_chip=plan.on_chip,
                on_chip_peak=plan.on_chip_peak,
                on_chip_size=plan.on_chip_size,
                rejected=plan.rejected,
                buffers=plan.device,
                tuned=program.tuned,
                placed=_count_placed(model, name),
            )
        )
    kept = [FallbackReport(d.name, d.operators, d.flops, d.reason) for d in model.offload if not d.offloaded]
    return subgraphs, kept


def _count_placed(model: CompiledModel, graph: str) -> int:
    """How many tensors of a subgraph's steps the program makes; 0 where TVM's runtime has the memory of all."""
    made: set[str] = set()
    for function in model.functions.values():
        steps = [i for i in walk(function.body) if isinstance(i, RunStep) and not i.args]
        ours = [i for i in steps if model.host_functions[i.function].graphs()[0].graph == graph]
        named = {operand.name for i in ours for operand in (*i.reads, *i.writes) if isinstance(operand, Reg)}
        made |= named - set(function.params)
    return len(made)
