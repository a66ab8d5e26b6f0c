"""The fixes of the fixed pipeline, by name, in the order in which they join it."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.errors import AdrenoSimError
from ..tvm_bridge.versions import tvm_series
from . import (
    branch_storage,
    constant_rank,
    elementwise_texels,
    function_names,
    inference_dropout,
    infinite_fill,
    packed_convolution,
    packed_transpose,
    plain_convolution,
    plain_operators,
    plan_coefficient,
    pool_accumulator,
    private_function,
    reduction_epilogue,
    shared_function,
    stacked_sum,
    texel_race,
    texture_store,
    unbound_block,
)
from .base import Fix
from .dispatch import kernel_locals, sampling, sort_scan
from .kernels import function_suffix, local_memory, one_term_reduction, own_threads, parameter_types
from .llm import condition_range, group_update, neighbour_read, state_objects, texture_flatten, vector_store_address

FIXES: tuple[Fix, ...] = (
    private_function.FIX,
    function_names.FIX,
    inference_dropout.FIX,
    infinite_fill.FIX,
    stacked_sum.FIX,
    constant_rank.FIX,
    packed_transpose.FIX,
    plain_convolution.FIX,
    plain_operators.FIX,
    packed_convolution.FIX,
    elementwise_texels.FIX,
    shared_function.FIX,
    pool_accumulator.FIX,
    texel_race.FIX,
    reduction_epilogue.FIX,
    one_term_reduction.FIX,
    local_memory.FIX,
    own_threads.FIX,
    unbound_block.FIX,
    texture_flatten.FIX,
    texture_store.FIX,
    condition_range.FIX,
    neighbour_read.FIX,
    group_update.FIX,
    vector_store_address.FIX,
    function_suffix.FIX,
    plan_coefficient.FIX,
    branch_storage.FIX,
    sort_scan.FIX,
    kernel_locals.FIX,
    sampling.FIX,
    parameter_types.FIX,
    state_objects.FIX,
)


def require_fixes(without: Sequence[str]) -> None:
    """Raise AdrenoSimError for a name in `without` that is not a fix. Imports no TVM."""
    names = [fix.name for fix in FIXES]
    for name in without:
        if name not in names:
            raise AdrenoSimError(f"fix {name!r}: expected one of {', '.join(names)}")


def choose(without: Sequence[str] = ()) -> tuple[Fix, ...]:
    """The fixes for the installed TVM without those named in `without`. Raises AdrenoSimError for a name that is not a fix."""
    require_fixes(without)
    return tuple(fix for fix in FIXES if fix.name not in without and tvm_series() in fix.versions)
