"""The code around the regions: what a group runs, and what `runtime/groups.c`, which runs the groups, must know of the kernel."""

from __future__ import annotations

from ..abi.kernel_shape import ABANDONED, KernelShape
from ..llvm.text import Text
from .kernel_plan import ArenaRange, KernelPlan
from .region import ARGUMENTS, PARAMETERS
from .sync_points import describe_sync


def group_functions(plan: KernelPlan) -> list[str]:
    """Returns the functions that the C runtime calls: `@group` runs one work-group from start to end; with more than one
    region, `@run_region` runs one, and `@combine` the function of the collective at a synchronisation point. `@begin_worker`
    and `@begin_group` clear shadows."""
    plan.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
    begin = [
        _begin("begin_worker", [area for check in plan.checks for area in check.zeroed_per_worker]),
        _begin("begin_group", [area for check in plan.checks for area in check.zeroed_per_group]),
    ]
    if plan.is_single_region:
        return [*begin, _group("region.0")]
    return [*begin, _group("run_by_subgroup" if plan.by_subgroup else "run_in_lockstep"), _run_region(plan), _combine(plan)]


def _begin(name: str, zeroed: list[ArenaRange]) -> str:
    t = Text()
    for offset, nbytes in zeroed:
        start = t.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        t.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 0, i64 {nbytes}, i1 false)")
    t.do("ret void")
    return "\n".join([f"define internal void @{name}(ptr %arena) #3 {{", *t.lines, "}"])


def _group(run: str) -> str:
    return f"define internal i64 @group({PARAMETERS}) #0 {{\n  %r = call i64 @{run}({ARGUMENTS})\n  ret i64 %r\n}}"


def _run_region(plan: KernelPlan) -> str:
    numbers = [region.number for region in plan.regions.regions]
    cases = " ".join(f"i64 {n}, label %r{n}" for n in numbers)
    lines = [f"define internal i64 @run_region(i64 %region, {PARAMETERS}) #0 {{"]
    lines.append(f"  switch i64 %region, label %none [ {cases} ]")
    for n in numbers:
        lines += [f"r{n}:", f"  %v{n} = call i64 @region.{n}({ARGUMENTS})", f"  ret i64 %v{n}"]
    return "\n".join([*lines, "none:", f"  ret i64 {ABANDONED}", "}"])


def _combine(plan: KernelPlan) -> str:
    lines = ["define internal void @combine(i64 %reached, ptr %arena, i64 %first, i64 %last) #0 {"]
    lines.append(f"  switch i64 %reached, label %done [ {' '.join(f'i64 {n}, label %c{n}' for n in plan.collective)} ]")
    for n in plan.collective:
        lines += [f"c{n}:", f"  call void @combine.{n}(ptr %arena, i64 %first, i64 %last)", "  br label %done"]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def define_kernel_data(plan: KernelPlan, first_divergence_site: int, first_watchdog_site: int) -> None:
    """Defines the constants that the C runtime reads. The unit reserves no memory after this."""
    unit = plan.unit
    syncs = [0, *map(describe_sync, plan.regions.graph.sync_points)]
    counters = [f"[2 x i64] [i64 {site}, i64 {offset}]" for site, offset in unit.counter_offsets.items()]
    shape = _shape(plan, first_divergence_site, first_watchdog_site)
    _define(plan, "kernel_shape", "i64", [f"i64 {int(value)}" for value in shape])
    _define(plan, "sync_points", "i8", [f"i8 {bits}" for bits in syncs])
    _define(plan, "event_counters", "[2 x i64]", counters)


def _define(plan: KernelPlan, name: str, type: str, items: list[str]) -> None:
    plan.unit.globals[name] = f"@{name} = internal constant [{len(items)} x {type}] [{', '.join(items)}]"


def _shape(plan: KernelPlan, first_divergence_site: int, first_watchdog_site: int) -> KernelShape:
    unit, spec = plan.unit, plan.unit.spec
    by_subgroup = plan.by_subgroup and not plan.is_single_region
    return KernelShape(
        spec.items,
        *spec.local_size,
        counts_items=plan.by_subgroup and not spec.uniform,
        wave=spec.wave_size if plan.by_subgroup else 0,
        subgroup_states=unit.reserve_arena(8 * -(-spec.items // spec.wave_size)) if by_subgroup else 0,
        local_bytes=unit.local_bytes,
        scheduled=plan.scheduled,
        counts_epochs=plan.counts_epochs,
        counters=len(unit.counter_offsets),
        first_divergence_site=first_divergence_site,
        first_watchdog_site=first_watchdog_site,
    )
