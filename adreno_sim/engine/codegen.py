"""Generates the LLVM module of a kernel for a specialization, and the tables that give its reports a meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..base.errors import UnsupportedError
from ..findings import Kind
from ..ir import ir, llvm_types
from ..ir.builtins import builtin_of
from ..ir.provenance import Provenance
from ..ir.queries import globals_of, object_align, private_bytes
from . import builtins, checks, vector  # noqa: F401 (built-ins register themselves)
from .abi import argument_block
from .abi.count_table import CountTable
from .abi.debug_table import DebugTable
from .abi.specialization import LocalArg, Specialization
from .analysis.failures import attempt, collect
from .analysis.loop_bounds import needs_no_watchdog
from .analysis.parallel_regions import RegionPlan
from .analysis.segments import Graph
from .emit import sync_points
from .emit.c_runtime import add_runtime
from .emit.collectives import is_collective
from .emit.diagnostic_sites import DiagnosticSite
from .emit.group import define_kernel_data, group_functions
from .emit.kernel_plan import CollectiveSlots, KernelPlan
from .emit.region import STACK_LIMIT, RegionEmitter, value_bytes
from .emit.tables.module_text import ModuleText
from .emit.tables.post_dominated_sites import PostDominatedSites
from .emit.unit import Unit
from .llvm import objects
from .llvm.inlining import mark_inlined
from .llvm.passes import MOST

MOST_GROUP_MEMORY = 1 << 30
"""The most bytes that a work-group's private and local variables may take; each worker holds as many."""


def emit_module(kernel: ir.Function, spec: Specialization) -> ModuleText:
    """Returns the module of `kernel` for `spec`. Raises UnsupportedError with name and location; AdrenoSimError if `spec`
    does not fit."""
    argument_block.check_arguments(kernel, spec)
    with collect() as failures:
        module = _emit_suitable(kernel, spec)
    return replace(module, failures=tuple(failures)) if failures else module


def _emit_suitable(kernel: ir.Function, spec: Specialization) -> ModuleText:
    """Returns vector code where the kernel allows, else scalar code."""
    reason = "asked for" if spec.emitter == "scalar" or spec.count or spec.one_by_one else vector.scalar_reason(spec)
    if not reason:
        failed: ModuleText | str = "the vector emitter failed"
        found = attempt(f"vector code of kernel {kernel.name}", lambda: _emit_vectors(kernel, spec), failed)
        if isinstance(found, ModuleText):
            return found
        reason = found
    if spec.full and spec.deferred_checks:
        return ModuleText("", 0, (), (), (), False, False, reason=reason)
    return replace(_emit(kernel, spec, _plan, _regions), reason=reason)


def _emit_vectors(kernel: ir.Function, spec: Specialization) -> ModuleText | str:
    """Returns vector code, or why there can be none."""
    try:
        return _emit(kernel, spec, _plan_vectors, vector.region_functions)
    except vector.NotVectorizable as unsuitable:
        return str(unsuitable)


Planner = Callable[[Unit, ir.Function], KernelPlan]
Writer = Callable[[Any], list[str]]


def _emit(kernel: ir.Function, spec: Specialization, planner: Planner, writer: Writer) -> ModuleText:
    unit = Unit(spec, kernel)
    _reserve_local(unit, kernel)
    plan = planner(unit, kernel)
    first_divergence_site = len(unit.table.sites)
    for sync in plan.regions.graph.sync_points:
        unit.table.sites.append(DiagnosticSite(Kind.DIVERGENT_BARRIER, sync.instr.loc, "split", size=sync.number))
    first_watchdog_site = len(unit.table.sites)
    unit.table.sites += [DiagnosticSite(Kind.WATCHDOG, sync.instr.loc) for sync in plan.regions.graph.sync_points]
    unit.functions += writer(plan)
    unit.functions += group_functions(plan)
    define_kernel_data(plan, first_divergence_site, first_watchdog_site)
    add_runtime(unit)
    if plan.lanes > 1:
        unit.functions = mark_inlined(unit.functions)
    text, memory = _head(plan) + unit.text(), unit.local_bytes + unit.arena_bytes + 128
    if (lines := text.count("\n")) > MOST:
        raise UnsupportedError(
            f"unsupported: kernel {kernel.name} becomes {lines} lines of LLVM text: expected at most {MOST}; "
            "split the kernel, or unroll its loops less"
        )
    if memory > MOST_GROUP_MEMORY:
        what = f"{memory} bytes of private and local memory for one work-group of kernel {plan.unit.kernel.name}"
        raise UnsupportedError(f"unsupported: {what}: expected at most {MOST_GROUP_MEMORY}")
    polls = not needs_no_watchdog(kernel, spec.proofs.ends_soon)
    post_dominated = PostDominatedSites(
        {site: spans for check in plan.checks for site, spans in check.find_post_dominated_sites().spans.items()}
    )
    sites, static_findings = tuple(unit.table.sites), tuple(unit.static_findings)
    return ModuleText(
        text,
        memory,
        sites,
        tuple(unit.prints),
        static_findings,
        polls,
        unit.may_fail,
        plan.by_subgroup,
        post_dominated,
        lanes=plan.lanes,
        counted=_counted_sites(plan) if unit.spec.counters else None,
        debugged=_debugged_places(plan) if unit.spec.debug else None,
    )


def _head(plan: KernelPlan) -> str:
    """Returns the line of a module that says how it is optimised."""
    if plan.unit.spec.unoptimised:
        return objects.UNOPTIMISED
    return objects.VECTORS if plan.lanes > 1 else objects.QUICK if plan.unit.spec.sampled else ""


def _plan_vectors(unit: Unit, kernel: ir.Function) -> KernelPlan:
    return vector.plan(unit, kernel, checks.plan_vectors)


def _regions(plan: KernelPlan) -> list[str]:
    return [RegionEmitter(plan, region).emit() for region in plan.regions.regions]


def _reserve_local(unit: Unit, kernel: ir.Function) -> None:
    """Lays out all local memory first: its size decides where the arena begins."""
    for param, arg in zip(kernel.params, unit.spec.args, strict=True):
        if isinstance(arg, LocalArg):
            unit.reserve_local(param.index, arg.nbytes)
    for variable in globals_of(kernel):
        if variable.space == ir.LOCAL:
            unit.reserve_local(variable.name, llvm_types.size_of(variable.type))


def _plan(unit: Unit, kernel: ir.Function) -> KernelPlan:
    graph = Graph(kernel, sync_points.Scopes())
    regions = RegionPlan(graph, polls=not unit.spec.proofs.ends_soon)
    by_subgroup = any(s.scope == "wave" for s in graph.sync_points)
    plan = KernelPlan(unit, Provenance(kernel), regions, by_subgroup, argument_block.slots(unit.spec.args)[0])
    if unit.spec.full:
        plan.checks, plan.scheduled = checks.plan_scalar(plan), True
    if unit.spec.counters:
        from .counting.instrumentation import Counting
        from .counting.plan import plan_counting

        plan.checks = [plan_counting(plan, Counting)]
    _reserve_private(plan, kernel)
    _reserve_spills(plan)
    if unit.spec.debug:
        from .debugging.instrumentation import Debugging
        from .debugging.plan import plan_debugging

        plan.checks = [*plan.checks, plan_debugging(plan, Debugging)]
    return plan


def _counted_sites(plan: KernelPlan) -> CountTable | None:
    from .counting.plan import CountingPlan

    return next((check.table for check in plan.checks if isinstance(check, CountingPlan)), None)


def _debugged_places(plan: KernelPlan) -> DebugTable | None:
    from .debugging.plan import DebugPlan

    return next((check.table for check in plan.checks if isinstance(check, DebugPlan)), None)


def _reserve_private(plan: KernelPlan, kernel: ir.Function) -> None:
    """Puts private variables in the arena if work-items are interleaved or a debugger reads them, or if the stack could not
    hold them."""
    variables = [i for i in kernel.blocks[0].instrs if i.op == "alloca"]
    alone = plan.is_single_region and not plan.unit.spec.debug
    items = 1 if alone else plan.unit.spec.items
    if alone and sum(map(private_bytes, variables)) <= STACK_LIMIT:
        return
    for instr in variables:
        size = private_bytes(instr)
        stride = llvm_types.align_up(size, object_align(size))
        plan.private[id(instr)] = (plan.unit.reserve_arena(stride * items), 0 if alone else stride)


def _reserve_spills(plan: KernelPlan) -> None:
    """Reserves arena memory for values that are live across synchronisation points, and for operands of collective functions."""
    emitter = RegionEmitter(plan, plan.regions.regions[0])
    items = plan.unit.spec.items
    syncs = plan.regions.graph.sync_points
    for value in [*plan.regions.live_across_syncs()]:
        plan.spilled[id(value)] = [plan.unit.reserve_arena(items * value_bytes(t)) for t in emitter.spill_types(value)]
    for sync in syncs:
        if is_collective(sync.instr):
            plan.collective[sync.number] = _reserve_collective(plan, emitter, sync.instr)
            plan.spilled[id(sync.instr)] = plan.collective[sync.number].result


def _reserve_collective(plan: KernelPlan, emitter: RegionEmitter, instr: ir.Instr) -> CollectiveSlots:
    types = emitter.part_types(instr)
    handed_over = builtin_of(instr).handed_over

    def reserve(parts: list[str]) -> list[int]:
        return [plan.unit.reserve_arena(plan.unit.spec.items * value_bytes(type)) for type in parts]

    operands = [
        reserve([llvm_types.spell(operand.type), *(types[1:] if position in handed_over else [])])
        for position, operand in enumerate(instr.operands)
    ]
    return CollectiveSlots(operands, reserve(types), types)
