"""Optimistic execution: proven accesses have no check, other checks only set a flag; if one fails, the launch runs again.

The second run starts from the memory as it was before, with code that reports each failed check. A failed check has the same
effect in both (a read gives zero, a write is dropped), so memory, findings and printed text are always those of the reporting
code. Benign events (`diagnostic_sites.BENIGN_KINDS`) are not failed checks: both runs count them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...ir import ir
from ...ir.mod_ref import read_arguments, written_arguments
from ..abi.bound import Bound
from ..abi.specialization import NOTHING
from ..analysis.failures import collect
from ..emit.check import NotVectorizable
from . import launch
from .coarse_compile import compile_coarse
from .coarse_launch import CoarseLaunch
from .compiled_kernel import CompiledKernel, specialize
from .launch import RawResult
from .launch_analysis import LaunchVariant
from .memory_copies import copy_ranges, range_of, restore_ranges

SNAPSHOT_LIMIT = 64 << 20
"""The most bytes that a launch copies to be able to run again; if it would take more, the reporting code runs at once."""


def run(
    variant: LaunchVariant,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    *,
    keep: bool = True,
    watch_range: tuple[int, int] | None = None,
    **options: Any,
) -> RawResult:
    """Compiles what is needed for launches of `variant`, and launches it as `launch.run` does, with its `options`.

    A launch that watches a range runs reporting code that relies on no proof.
    """
    kernel, proven = variant.analysis.kernel, variant.analysis.proven
    if watch_range is not None:
        watching = specialize(kernel, replace(variant.spec, watch=True, proofs=NOTHING), keep=keep)
        return launch.run(watching, global_size, offset, args, watch_range=watch_range, **options)
    compile_first(variant, keep)
    if variant.coarse is not None:
        result = _run_coarse(variant, variant.coarse, args, options)
        if result is not None:
            return result
        compile_first(variant, keep)
    if variant.spec.checks == "off":
        assert variant.fast is not None
        done = launch.run(variant.fast, global_size, offset, args, **options)
        done.failures = (*proven.failures, *variant.failures, *done.failures)
        return done
    result = None
    if not variant.failed and variant.fast is not None:
        result = _run_deferring(variant, variant.fast, global_size, offset, args, options)
    if result is None or result.failed:
        reporting = specialize(kernel, variant.spec, keep=keep)
        result = rerun_with_diagnostics(reporting, global_size, offset, args, result, options)
    result.accesses = proven.accesses
    result.failures = (*proven.failures, *variant.failures, *result.failures)
    if variant.spec.count:
        result.accesses = replace(proven.accesses, executed=result.executed, executed_proven=result.executed_proven)
    return result


def compile_first(variant: LaunchVariant, keep: bool) -> None:
    """Compiles the code that launches of `variant` begin with, if there is such code; `run` keeps it on disk alike."""
    if variant.failed or variant.fast is not None or variant.coarse is not None:
        return
    if not variant.coarse_failed:
        with collect() as failures:
            variant.coarse = compile_coarse(variant, keep)
        variant.failures = tuple(failures)
        if variant.coarse is not None:
            return
    if variant.spec.checks == "off":  # what is proven makes faster code still
        variant.fast = specialize(variant.analysis.kernel, variant.spec, keep=keep)
        return
    with collect() as failures:
        try:
            variant.fast = specialize(variant.analysis.kernel, replace(variant.spec, deferred_checks=True), keep=keep)
        except NotVectorizable:
            variant.failed = True
    variant.failures = tuple(dict.fromkeys((*variant.failures, *failures)))


def _run_coarse(variant: LaunchVariant, coarse: CoarseLaunch, args: Sequence[Bound], options: Any) -> RawResult | None:
    """Runs the coarse kernel of a launch. Returns None if it cannot run with these arguments, or has something to report."""
    # Of groups that compute twice, the second must read what the first did.
    result = None if snapshot_ranges(variant.analysis.kernel, args) else coarse.run(args, options)
    if result is None:
        variant.coarse, variant.coarse_failed = None, True
        return None
    result.accesses, result.deferred = variant.analysis.proven.accesses, True
    result.failures = (*variant.analysis.proven.failures, *variant.failures, *result.failures)
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
    variant: LaunchVariant,
    compiled: CompiledKernel,
    global_size: Sequence[int],
    offset: Sequence[int],
    args: Sequence[Bound],
    options: Any,
) -> RawResult | None:
    """Runs code with deferred checks; if one failed, memory is restored. Returns None if that would need too large a copy."""
    ranges = snapshot_ranges(variant.analysis.kernel, args) if compiled.module.may_fail else []
    if sum([nbytes for _, nbytes in ranges]) > SNAPSHOT_LIMIT:
        return None
    before = copy_ranges(ranges) if ranges else []
    result = launch.run(compiled, global_size, offset, args, **options)
    if result.failed:
        variant.failed = True
        restore_ranges(ranges, before)
    result.deferred = not result.failed
    return result


def snapshot_ranges(kernel: ir.Function, args: Sequence[Bound]) -> list[tuple[int, int]]:
    """Returns (address, bytes) of the arguments that the kernel may both write and read, through any argument, and of their
    definedness bytes.

    Memory that is only written needs no copy: the second run writes the same bytes again.
    """
    sources = [range_of(args[i]) for i in read_arguments(kernel)]
    ranges = []
    for index in sorted(written_arguments(kernel)):
        low, size = range_of(args[index])
        if size and any(low < a + n and a < low + size for a, n in sources):
            ranges.append((low, size))
            valid = args[index].valid  # type: ignore[union-attr]
            ranges += [(valid, size)] if valid else []
    return ranges
