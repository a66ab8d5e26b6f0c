"""What is proven of the accesses of a kernel whose head is `in_range_cases.HEAD`, and what a launch of it finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle
from in_range_cases import ITEMS, LOCAL

from adreno_sim.device.inspection import LaunchProofs
from adreno_sim.engine.abi.bound import BoundBuffer
from adreno_sim.engine.abi.launch_facts import LaunchFacts, facts_of
from adreno_sim.engine.abi.specialization import NOTHING, BufferArg, ScalarArg, Specialization
from adreno_sim.engine.prove.explain import explain_launch
from adreno_sim.engine.prove.in_range import AccessAnalysis, prove_in_range
from adreno_sim.engine.run import launch, optimistic
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir
from adreno_sim.ir.memory_ops import touches_memory


def accesses(source: str) -> list[ir.Instr]:
    """The instructions that touch memory, in order."""
    function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
    return [i for b in function.blocks for i in b.instrs if touches_memory(i)]


def proven(source: str, elements: int, items: int = ITEMS, offset: int = 0) -> list[bool]:
    """Of each access to global memory, in order."""
    function, spec, facts = launch_of(source, elements, items, offset)
    known = prove_in_range(AccessAnalysis(function, spec, facts)).in_range
    return [number in known for number, i in enumerate(i for b in function.blocks for i in b.instrs) if touches_memory(i)]


def explained(source: str, elements: int) -> LaunchProofs:
    """What is said of each access, for the launch that `proven` asks about."""
    return explain_launch(*launch_of(source, elements))


def launch_of(source: str, elements: int, items: int = ITEMS, offset: int = 0) -> tuple[ir.Function, Specialization, LaunchFacts]:
    """The kernel, its specialization and the facts of its launch."""
    function = compile_source(source, "", target=FrontEndTarget()).kernels["k"]
    specs = (BufferArg(), BufferArg(), ScalarArg(4), ScalarArg(4))
    spec = Specialization(local_size=(LOCAL, 1, 1), args=specs, uniform=items % LOCAL == 0)
    args = [BoundBuffer(0, 4 * elements), BoundBuffer(0, 256), (7).to_bytes(4, "little"), (5).to_bytes(4, "little")]
    return function, spec, facts_of(function, spec, (items, 1, 1), (offset, 0, 0), args)


def findings(engine, monkeypatch, source: str, elements: int, fast: bool) -> tuple[list[object], list[np.ndarray]]:
    args = [oracle.Buffer(np.zeros(elements, np.int32)), oracle.Buffer(np.arange(ITEMS, dtype=np.int32) % 16 + 1)]
    args += [oracle.Scalar(np.int32(7)), oracle.Scalar(np.uint32(5))]
    if fast:
        result = engine.run(source, "k", (ITEMS,), (LOCAL,), args, threads=1)
    else:
        monkeypatch.setattr(optimistic, "run", reporting_run)
        result = engine.run_with("scalar", source, "k", (ITEMS,), (LOCAL,), args, threads=1)
        monkeypatch.undo()
    return result.findings, result.outputs


def reporting_run(variant, *args, keep=True, watch_range=None, **options):
    """Stands in for `optimistic.run`: code that checks every access and reports at once."""
    spec = replace(variant.spec, proofs=NOTHING)
    return launch.run(optimistic.specialize(variant.analysis.kernel, spec, keep=keep), *args, **options)
