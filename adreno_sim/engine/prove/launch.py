"""All proofs about a launch, as far as its level of checks can use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ...base.garbage import gc_paused
from ...device.protocol import AccessCounts
from ...ir import ir
from ...ir.memory_ops import touches_memory
from ..abi.launch_facts import LaunchFacts
from ..abi.proven_launch import ProvenLaunch
from ..abi.specialization import Proofs, Specialization
from ..analysis.failures import attempt, collect
from .in_range import AccessAnalysis, prove_in_range
from .known_factors import find_known_factors
from .local_races import race_free_local_arrays
from .short_launch import ends_soon
from .single_writer import single_writer_args
from .whole_writes import wholly_written_args
from .written_locals import written_local_arrays

T = TypeVar("T")


@gc_paused()
def prove_launch(kernel: ir.Function, spec: Specialization, facts: LaunchFacts) -> ProvenLaunch:
    """Proves what the level of checks can use. An analysis that fails proves nothing, and takes no other proof with it."""
    usable: list[AccessAnalysis] = []

    def find(what: str, find_in: Callable[[AccessAnalysis], T], nothing: T) -> T:
        def use() -> T:
            analysis = usable.pop() if usable else AccessAnalysis(kernel, spec, facts)
            found = find_in(analysis)
            usable.append(analysis)  # which one that failed is not: it may be half made
            return found

        return attempt(f"{what} kernel {kernel.name}", use, nothing)

    access_sites = {n for n, i in enumerate(i for block in kernel.blocks for i in block.instrs) if touches_memory(i)}
    single_writer: frozenset[int] = frozenset()
    written_whole: frozenset[int] = frozenset()
    with collect() as failures:
        proofs = find("proofs about", prove_in_range, Proofs())
        if spec.emitter == "spmd":
            proofs = replace(proofs, factors=find("known factors in", find_known_factors, proofs.factors))
        if spec.full:
            single_writer = find("single writers of", single_writer_args, single_writer)
            race_free = find("races in local memory of", race_free_local_arrays, proofs.race_free_locals)
            written = find("the first writes of local memory in", written_local_arrays, proofs.written_locals)
            proofs = replace(proofs, race_free_locals=race_free, written_locals=written)
        proofs = replace(proofs, ends_soon=find("lengths of loops in", ends_soon, False))
        if single_writer:
            whole = partial(wholly_written_args, single_writer=single_writer, ends=proofs.ends_soon)
            written_whole = find("wholly written arguments of", whole, written_whole)
    accesses = AccessCounts(len(access_sites), len(access_sites & proofs.in_range))
    return ProvenLaunch(accesses, proofs, single_writer, written_whole, tuple(failures))
