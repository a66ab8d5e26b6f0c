"""Evidence of a check: the calls of the run, the plan's tensors, and sources of kernels with findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....results.evidence import MOST_TENSORS, CallNote, Evidence, TensorNote
from ....results.model import Report
from ...artifact.host_function import BufferParam, HostFunction
from ...artifact.memory_plan import MemoryPlan
from ...artifact.model import ENTRY, CompiledModel
from ...artifact.vm_function import CallHost, Reg
from ...artifact.vm_registers import find_blocks
from ...run.observer import FunctionCall, GraphCall, LaunchCall, Observer

if TYPE_CHECKING:
    from ....mlops.engine import GraphRun

Launch = tuple[str, tuple[int, ...], tuple[int, ...]]
Launches = tuple[Launch, ...]
"""Kernel, global size, local size each."""


class CallLog(Observer):
    """Notes every call of a run: what it launches, reads and writes. A call that broke off is noted, too, and at the end those
    that the run did not come to, where the program has no branches and no functions but its entry."""

    def __init__(self, model: CompiledModel, evidence: Evidence):
        self._model, self._evidence = model, evidence
        self._makers = {} if model.plan is None else {tensor.id: tensor.producer for tensor in model.plan.tensors}
        self._last = -1
        self._begun: tuple[HostFunction, tuple[str, ...], tuple[str, ...]] | None = None
        self._launches: list[Launch] = []

    def before_function(self, call: FunctionCall) -> None:
        self._end_call()
        reads, writes = (tuple(tensor.name for _, tensor in call.tensors(written=written)) for written in (False, True))
        self._begun, self._last = (call.function, reads, writes), call.instruction

    def before_launch(self, launch: LaunchCall) -> None:
        self._launches.append((launch.code.name, launch.global_size, launch.local_size))

    def after_graph(self, graph: GraphCall, run: GraphRun) -> None:
        self._launches.append((graph.graph, (), ()))

    def finish(self) -> None:
        """Note the last call, and those that the run did not come to."""
        self._end_call()
        body = self._model.functions[ENTRY].body if set(self._model.functions) == {ENTRY} else ()
        if any(True for instruction in body for _ in find_blocks(instruction)):
            return
        for number, instruction in enumerate(body):
            if number > self._last and isinstance(instruction, CallHost):
                self._note_unreached(instruction)

    def _end_call(self) -> None:
        if self._begun is not None:
            function, reads, writes = self._begun
            self._add(function, tuple(self._launches), reads, writes)
        self._begun = None
        self._launches.clear()

    def _note_unreached(self, instruction: CallHost) -> None:
        function = self._model.host_functions[instruction.function]
        if function.on_host:
            return
        pairs = [
            (arg.name, param.access)
            for param, arg in zip(function.params, instruction.args, strict=True)
            if isinstance(param, BufferParam) and isinstance(arg, Reg)
        ]
        reads = tuple(name for name, access in pairs if access in ("read", "none"))
        self._add(function, (), reads, tuple(name for name, access in pairs if access in ("write", "read_write")))

    def _add(self, function: HostFunction, launches: Launches, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
        maker = next((self._makers[name] for name in writes if self._makers.get(name)), "")
        self._evidence.add_call(CallNote(function.name, maker, launches, reads, writes))


def keep_evidence(report: Report, compiled: CompiledModel, evidence: Evidence) -> None:
    """Put into the report the evidence, with the tensors of the plan, and sources of kernels with findings or with accesses that
    are not proven."""
    found = [*report.findings, *(item.finding for item in report.allowed)]
    named = {finding.kernel for finding in found} | report.unproven.keys()
    report.sources = {name: code.source for name, code in compiled.kernels.items() if name in named}
    if compiled.plan is not None:
        _add_tensors(evidence, compiled.plan)
    report.evidence = evidence


def _add_tensors(evidence: Evidence, plan: MemoryPlan) -> None:
    bases, total = {}, 0
    for storage in plan.storages:
        bases[storage.id], total = total, total + max(storage.planned_bytes, storage.needed_bytes)
    evidence.planned = total
    if len(plan.tensors) > MOST_TENSORS:
        evidence.cut[f"tensors of the plan behind the first {MOST_TENSORS:,}"] = None
    for tensor in plan.tensors[:MOST_TENSORS]:
        place = tensor.id, tensor.storage, bases[tensor.storage], tensor.offset, tensor.right_bytes, tensor.dense_bytes
        kind = tensor.shape, tensor.dtype, tensor.scope
        evidence.tensors.append(TensorNote(*place, tensor.first, tensor.last, *kind, tensor.producer))
