"""The code around the regions: what a group runs, and what `runtime/groups.c`, which runs the groups, must know of the kernel."""

from __future__ import annotations

from ..abi.kernel_shape import ABANDONED, KernelShape
from ..llvm.text import Text
from .c_runtime import GROUPS, WORK, WORKER
from .collectives import combine_functions
from .kernel_plan import ArenaRange, KernelPlan
from .region import ARGUMENTS, PARAMETERS
from .sync_points import describe_sync


def group_functions(plan: KernelPlan) -> list[str]:
    """Returns the functions that the C runtime calls (`runtime/kernel.h`, `work.c`): what begins and ends a worker and a group,
    and `@group`, which runs one; with more than one region, `@run_region` and `@combine`. And `@worker`, which a launch calls."""
    plan.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
    around = [*_worker(plan), _begin_group(plan), _items_of_group(plan)]
    if plan.is_single_region:
        return [*around, _group("region.0")]
    return [
        *around,
        _group("run_by_subgroup" if plan.by_subgroup else "run_in_lockstep"),
        _run_region(plan),
        *combine_functions(plan),
    ]


def _worker(plan: KernelPlan) -> list[str]:
    """Returns `@worker`, and what begins and ends one, where anything does."""
    begins, ends = Text(), Text()
    _zero(begins, [area for check in plan.checks for area in check.zeroed_per_worker])
    if plan.unit.counter_offsets:
        begins.do("call void @clear_counters(ptr %arena)")
        ends.do("call void @add_counters(ptr %ctx, ptr %arena)")
    own = {name: t for name, t in {"begin_worker": begins, "end_worker": ends}.items() if t.lines}
    work = plan.unit.declare(WORK, "void", "ptr, ptr, ptr, ptr, ptr, ptr")
    around = ", ".join(f"ptr @{name}" if name in own else "ptr null" for name in ("begin_worker", "end_worker"))
    worker = f"call {work}(ptr %ctx, ptr %args, ptr %mem, ptr @{GROUPS}, {around})"
    arena = f"  %arena = getelementptr i8, ptr %mem, i64 {plan.unit.local_bytes}"
    heads = {name: f"define internal void @{name}(ptr %ctx, ptr %mem) #2 {{" for name in own}
    functions = ["\n".join([heads[name], arena, *t.lines, "  ret void", "}"]) for name, t in own.items()]
    return [*functions, f"define void @{WORKER}(ptr %ctx, ptr %args, ptr %mem) #2 {{\n  {worker}\n  ret void\n}}"]


def _begin_group(plan: KernelPlan) -> str:
    t = Text()
    if plan.counts_epochs:
        t.do("call void @shadow_group(ptr %ctx, i64 %turn)")
    _zero(t, [area for check in plan.checks for area in check.zeroed_per_group])
    group = t.op("call i64 @scheduled_group(ptr %ctx, i64 %turn)") if plan.orders_groups else "%turn"
    return _inlined("i64 @begin_group(ptr %ctx, ptr %arena, i64 %turn)", t, f"ret i64 {group}")


def _items_of_group(plan: KernelPlan) -> str:
    t, spec = Text(), plan.unit.spec
    is_exact = (plan.by_subgroup or plan.collective) and not spec.uniform
    items = t.op("call i64 @count_items(ptr %ctx, i64 %gx, i64 %gy, i64 %gz)") if is_exact else spec.items
    return _inlined("i64 @items_of_group(ptr %ctx, i64 %gx, i64 %gy, i64 %gz)", t, f"ret i64 {items}")


def _zero(t: Text, ranges: list[ArenaRange]) -> None:
    for offset, nbytes in ranges:
        start = t.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        t.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 0, i64 {nbytes}, i1 false)")


def _inlined(head: str, t: Text, end: str) -> str:
    return "\n".join([f"define internal {head} #3 {{", *t.lines, f"  {end}", "}"])


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
        wave=spec.wave_size if plan.by_subgroup else 0,
        subgroup_states=unit.reserve_arena(8 * -(-spec.items // spec.wave_size)) if by_subgroup else 0,
        local_bytes=unit.local_bytes,
        counts_epochs=plan.counts_epochs,
        counters=len(unit.counter_offsets),
        first_divergence_site=first_divergence_site,
        first_watchdog_site=first_watchdog_site,
    )
