"""Optimistic execution: proven accesses have no check, other checks only set a flag; if one fails, the launch runs again.

The second run starts from the memory as it was before, with code that reports each failed check. A failed check has the same
effect in both (a read gives zero, a write is dropped), so memory, findings and printed text are always those of the reporting
code. Benign events (`diagnostic_sites.BENIGN_KINDS`) are no failed checks: both runs count them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...base.gc_pause import gc_paused
from ...device.protocol import AccessCounts
from ...ir import ir
from ...ir.memory_ops import touches_memory
from ...ir.mod_ref import read_arguments, written_arguments
from ..abi.bound import Bound, BoundBuffer, BoundImage
from ..abi.launch_facts import LaunchFacts, facts_of
from ..abi.specialization import Proofs, Specialization
from ..analysis.failures import collect
from ..caching import compiled_cache
from ..caching.kernel_memo import KernelMemo
from ..prove.in_range import prove
from ..prove.local_races import race_free_local_arrays
from ..vector import NotVectorizable
from . import launch
from .compiled_kernel import CompiledKernel, specialize
from .launch import RawResult

SNAPSHOT_LIMIT = 64 << 20
"""The most bytes that a launch copies to be able to run again; if it would take more, the reporting code runs at once."""


@dataclass
class LaunchAnalysis:
    """What launches of one kernel, specialization and facts share. `kernel` is held so that its id stays its own.

    fast: code with deferred checks (at level off: all code there is), once it is compiled. failed: a launch had to run again,
    or there is no such code; the reporting code then runs at once. access_sites, proven: how many instructions access memory,
    and how many of them are proven in range. failures: why nothing is proven, if an analysis failed.
    """

    kernel: ir.Function
    spec: Specialization
    access_sites: int
    proven: int
    failures: tuple[str, ...] = ()
    fast: CompiledKernel | None = None
    failed: bool = False

    @cached_property
    def accesses(self) -> AccessCounts:
        """The access counts of launches whose code does not count executions."""
        return AccessCounts(self.access_sites, self.proven)


_analyses: KernelMemo[LaunchAnalysis] = KernelMemo()
_mod_refs: KernelMemo[tuple[frozenset[int], frozenset[int]]] = KernelMemo()


def run(
    kernel: ir.Function,
    spec: Specialization,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    *,
    keep: bool = True,
    facts: LaunchFacts | None = None,
    **options: Any,
) -> RawResult:
    """Compiles what is needed of `kernel` for `spec`, and launches it as `launch.run` does, with its `options`.

    facts: of this launch, if they are known.
    """

    def code(spec: Specialization) -> CompiledKernel:
        return specialize(kernel, spec, keep=keep)

    if spec.watch:
        return launch.run(code(spec), global_size, offset, args, **options)
    analysis = analyze_launch(kernel, spec, facts or facts_of(kernel, spec, global_size, offset, args), keep=keep)
    if spec.checks == "off":  # what is proven makes faster code still
        analysis.fast = analysis.fast or code(analysis.spec)
        done = launch.run(analysis.fast, global_size, offset, args, **options)
        done.failures = (*analysis.failures, *done.failures)
        return done
    if not analysis.failed and analysis.fast is None:
        with collect() as failures:
            try:
                analysis.fast = code(replace(analysis.spec, deferred_checks=True))
            except NotVectorizable:
                analysis.failed = True
        analysis.failures += tuple(failures)
    result = None
    if not analysis.failed and analysis.fast is not None:
        result = _run_deferring(analysis, analysis.fast, global_size, offset, args, options)
    if result is None or result.failed:
        result = rerun_with_diagnostics(code(analysis.spec), global_size, offset, args, result, options)
    result.accesses = analysis.accesses
    result.failures = (*analysis.failures, *result.failures)
    if spec.count:
        result.accesses = AccessCounts(analysis.access_sites, analysis.proven, result.executed, result.executed_proven)
    return result


def rerun_with_diagnostics(
    reporting: CompiledKernel,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    failed: RawResult | None,
    options: Any,
) -> RawResult:
    """Run the launch with code that reports every failed check. The seconds of the `failed` run, if there was one, are added,
    and what ran."""
    result = launch.run(reporting, global_size, offset, args, **options)
    if failed is not None:
        result.seconds += failed.seconds
        result.ran = (*failed.ran, *result.ran)
    return result


def _run_deferring(
    analysis: LaunchAnalysis,
    compiled: CompiledKernel,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    options: Any,
) -> RawResult | None:
    """Runs code with deferred checks; if one failed, memory is restored. Returns None if that would need too large a copy."""
    ranges = snapshot_ranges(analysis.kernel, args) if compiled.module.may_fail else []
    if sum(nbytes for _, nbytes in ranges) > SNAPSHOT_LIMIT:
        return None
    before = [_copy_bytes(*piece) for piece in ranges]
    result = launch.run(compiled, global_size, offset, args, **options)
    if result.failed:
        analysis.failed = True
        for (address, _), data in zip(ranges, before, strict=True):
            ctypes.memmove(address, data.ctypes.data, data.nbytes)
    return result


def analyze_launch(kernel: ir.Function, spec: Specialization, facts: LaunchFacts, *, keep: bool = False) -> LaunchAnalysis:
    """Returns what is proven of a launch; it is looked up for equal facts, on disk too if `keep` is set."""
    load_or_prove = partial(compiled_cache.load_or_find, "proofs", _prove_launch) if keep else _prove_launch

    def make() -> LaunchAnalysis:
        access_sites, proven, proofs, failures = load_or_prove(kernel, spec, facts)
        return LaunchAnalysis(kernel, replace(spec, proofs=proofs), access_sites, proven, failures)

    return _analyses.get(kernel, spec, facts, make=make)


@gc_paused()
def _prove_launch(kernel: ir.Function, spec: Specialization, facts: LaunchFacts) -> tuple[int, int, Proofs, tuple[str, ...]]:
    """Returns how many instructions access memory, how many of them are proven in range, all proofs, and why an analysis
    failed if one did."""
    access_sites = {n for n, i in enumerate(i for block in kernel.blocks for i in block.instrs) if touches_memory(i)}
    with collect() as failures:
        proofs = prove(kernel, spec, facts)
        if spec.full:
            proofs = replace(proofs, race_free_locals=race_free_local_arrays(kernel, spec, facts))
    return len(access_sites), len(access_sites & proofs.in_range), proofs, tuple(failures)


def snapshot_ranges(kernel: ir.Function, args: Sequence[Bound]) -> list[tuple[int, int]]:
    """Returns (address, bytes) of the arguments that the kernel may both write and read, through any argument, and of their
    definedness bytes.

    Memory that is only written needs no copy: the second run writes the same bytes again.
    """
    written, read = _mod_ref_of(kernel)
    sources = [_range(args[i]) for i in read]
    ranges = []
    for index in sorted(written):
        low, size = _range(args[index])
        if size and any(low < a + n and a < low + size for a, n in sources):
            ranges.append((low, size))
            valid = args[index].valid  # type: ignore[union-attr]
            ranges += [(valid, size)] if valid else []
    return ranges


def _range(arg: Bound) -> tuple[int, int]:
    return (arg.address, arg.nbytes) if isinstance(arg, (BoundBuffer, BoundImage)) else (0, 0)


def _copy_bytes(address: int, nbytes: int) -> np.ndarray:
    copy = np.empty(nbytes, np.uint8)
    ctypes.memmove(copy.ctypes.data, address, nbytes)
    return copy


def _mod_ref_of(kernel: ir.Function) -> tuple[frozenset[int], frozenset[int]]:
    """Returns the indices of the arguments that `kernel` may write, and of those it may read."""
    return _mod_refs.get(kernel, make=lambda: (written_arguments(kernel), read_arguments(kernel)))
