"""The code around the regions: `@group` runs one work-group through its synchronisation points; `@worker` takes groups until
none is left."""

from __future__ import annotations

from ..abi import context
from ..llvm.text import UNLIKELY, Text
from . import event_counters
from .kernel_plan import ArenaRange, KernelPlan
from .region import ABANDONED, ARGUMENTS, PARAMETERS


def group_function(plan: KernelPlan) -> str:
    """Returns `i64 @group(...)`, which runs one work-group from start to end. It returns 0, or ABANDONED."""
    if plan.is_single_region:
        body = f"  %r = call i64 @region.0({ARGUMENTS})\n  ret i64 %r"
    elif plan.by_subgroup:
        body = _run_by_subgroup(plan)
    else:
        body = _run_in_lockstep(plan)
    return f"define internal i64 @group({PARAMETERS}) #0 {{\nentry:\n{body}\n}}"


def _dispatch(plan: KernelPlan, prefix: str, current: str, numbers: list[int], after: str) -> list[str]:
    """Emits the call of region `current`. Its result is `%{prefix}.result` in block `after`."""
    cases = " ".join(f"i64 {n}, label %{prefix}.r{n}" for n in numbers)
    lines = [f"  %{prefix}.tick = call i64 @shadow.tick(ptr %ctx)"] if plan.counts_epochs else []
    lines.append(f"  switch i64 {current}, label %{prefix}.none [ {cases} ]")
    for n in numbers:
        lines += [f"{prefix}.r{n}:", f"  %{prefix}.v{n} = call i64 @region.{n}({ARGUMENTS})", f"  br label %{after}"]
    lines += [f"{prefix}.none:", f"  br label %{after}", f"{after}:"]
    pairs = ", ".join(f"[ %{prefix}.v{n}, %{prefix}.r{n} ]" for n in numbers)
    lines.append(f"  %{prefix}.result = phi i64 {pairs}, [ {ABANDONED}, %{prefix}.none ]")
    return lines


def _combine(plan: KernelPlan, prefix: str, reached: str, after: str) -> list[str]:
    """Emits the call of the combining function if a collective was reached, then a jump to `after`."""
    numbers = [s.number for s in plan.regions.graph.sync_points if s.number in plan.collective]
    cases = " ".join(f"i64 {n}, label %{prefix}.c{n}" for n in numbers)
    lines = [f"  switch i64 {reached}, label %{after} [ {cases} ]"]
    for n in numbers:
        lines += [f"{prefix}.c{n}:", f"  call void @combine.{n}(ptr %arena, i64 %first, i64 %last)", f"  br label %{after}"]
    return lines


def _run_in_lockstep(plan: KernelPlan) -> str:
    """Emits the schedule without sub-groups: all work-items run a region before any runs the next."""
    lines = ["  br label %step", "step:", "  %current = phi i64 [ 0, %entry ], [ %run.result, %again ]"]
    lines += _dispatch(plan, "run", "%current", [r.number for r in plan.regions.regions], "ran")
    lines += ["  %on = icmp sgt i64 %run.result, 0", "  br i1 %on, label %more, label %end", "more:"]
    lines += _announce_sync(plan)
    lines += _combine(plan, "join", "%run.result", "again")
    lines += ["again:", *_poll("%gl", "0", "step", "end")]
    result = f"  %outcome = phi i64 [ %run.result, %ran ], [ {ABANDONED}, %stopped ]"
    return "\n".join([*lines, "end:", result, "  ret i64 %outcome"])


def _announce_sync(plan: KernelPlan) -> list[str]:
    """Emits the call that tells the logical clock that all work-items of the group met at `%run.result`."""
    return ["  call void @shadow.met(ptr %ctx, i64 %run.result)"] if plan.counts_epochs else []


def _poll(group: str, local: str, on: str, end: str) -> list[str]:
    """Emits a test of the stop flag between regions, for loops around a barrier. Continues at `on`, or at `end` by way of
    %stopped."""
    return [
        f"  %stop.p = getelementptr i8, ptr %ctx, i64 {context.STOP * 8}",
        "  %stop.flag = load atomic i64, ptr %stop.p monotonic, align 8",
        "  %stop.set = icmp ne i64 %stop.flag, 0",
        f"  br i1 %stop.set, label %stopped, label %{on}{UNLIKELY}",
        "stopped:",
        f"  call void @stopped(ptr %ctx, i64 {group}, i64 {local}, i64 %run.result)",
        f"  br label %{end}",
    ]


def _run_by_subgroup(plan: KernelPlan) -> str:
    """Emits the schedule with sub-groups: each runs alone between synchronisation points of the group. `state` holds the
    region of each."""
    wave = plan.unit.spec.wave_size
    state = plan.unit.reserve_arena(8 * -(-plan.unit.spec.items // wave))
    wave_numbers = [s.number for s in plan.regions.graph.sync_points if s.scope == "wave"]
    on_wave = " ".join(f"i64 {n}, label %meet" for n in wave_numbers)
    lines = f"""  %state = getelementptr i8, ptr %arena, i64 {state}
  %total = add i64 %last, 0
  br label %clear
clear:
  %c = phi i64 [ 0, %entry ], [ %c.next, %clear ]
  %cp = getelementptr i64, ptr %state, i64 %c
  store i64 0, ptr %cp, align 8
  %c.next = add i64 %c, 1
  %c.at = mul i64 %c.next, {wave}
  %c.more = icmp ult i64 %c.at, %total
  br i1 %c.more, label %clear, label %phase
phase:
  br label %wave
wave:
  %w = phi i64 [ 0, %phase ], [ %w.next, %next ]
  %agreed = phi i64 [ -2, %phase ], [ %run.result, %next ]
  %wp = getelementptr i64, ptr %state, i64 %w
  %start = load i64, ptr %wp, align 8
  %begin = mul i64 %w, {wave}
  %begin.next = add i64 %begin, {wave}
  %short = icmp ult i64 %begin.next, %total
  %finish = select i1 %short, i64 %begin.next, i64 %total
  br label %step
step:
  %current = phi i64 [ %start, %wave ], [ %run.result, %again ]"""
    dispatch = _dispatch(plan, "run", "%current", [r.number for r in plan.regions.regions], "ran")
    body = "\n".join(dispatch).replace("i64 %first, i64 %last)", "i64 %begin, i64 %finish)")
    meet = "\n".join(_combine(plan, "join", "%run.result", "again")).replace("i64 %first, i64 %last", "i64 %begin, i64 %finish")
    whole = "\n".join(_combine(plan, "all", "%run.result", "joined")).replace("i64 %first, i64 %last", "i64 0, i64 %total")
    met = "\n".join(_announce_sync(plan))
    poll = "\n".join(_poll("%gl", "%begin", "step", "abandon"))
    return f"""{lines}
{body}
  switch i64 %run.result, label %settled [ {on_wave} ]
meet:
{meet}
again:
{poll}
settled:
  store i64 %run.result, ptr %wp, align 8
  %lost = icmp eq i64 %run.result, {ABANDONED}
  br i1 %lost, label %abandon, label %compare
compare:
  %differs = icmp ne i64 %run.result, %agreed
  %later = icmp ne i64 %agreed, -2
  %bad = and i1 %differs, %later
  br i1 %bad, label %disagree, label %next
disagree:
  call void @diverged(ptr %ctx, i64 %gl, i64 %begin, i64 %run.result, i64 %agreed)
  br label %abandon
next:
  %w.next = add i64 %w, 1
  %w.at = mul i64 %w.next, {wave}
  %w.more = icmp ult i64 %w.at, %total
  br i1 %w.more, label %wave, label %arrived
arrived:
  %done = icmp eq i64 %run.result, 0
  br i1 %done, label %end, label %all
all:
{met}
{whole}
joined:
  %late.p = getelementptr i8, ptr %ctx, i64 {context.STOP * 8}
  %late.flag = load atomic i64, ptr %late.p monotonic, align 8
  %late.set = icmp ne i64 %late.flag, 0
  br i1 %late.set, label %late, label %phase
late:
  call void @stopped(ptr %ctx, i64 %gl, i64 0, i64 %run.result)
  br label %abandon
end:
  ret i64 0
abandon:
  ret i64 {ABANDONED}"""


def diverged_function(first_site: int) -> str:
    """Returns `@diverged(ctx, group, local, here, there)`, which reports that work-items of a group reached different
    synchronisation points (0 is the end)."""
    return f"""
define internal void @diverged(ptr %ctx, i64 %group, i64 %local, i64 %here, i64 %there) #1 {{
entry:
  %ended = icmp eq i64 %here, 0
  %split = select i1 %ended, i64 %there, i64 %here
  %site = add i64 %split, {first_site - 1}
  call void @report(ptr %ctx, i64 %site, i64 %group, i64 %local, i64 %here, i64 %there, i64 0, i64 0, i64 0, i64 0)
  ret void
}}
"""


def stopped_function(first_site: int) -> str:
    """Returns `@stopped(ctx, group, local, split)`, which reports that the launch was stopped between two synchronisation
    points."""
    return f"""
define internal void @stopped(ptr %ctx, i64 %group, i64 %local, i64 %split) #1 {{
entry:
  %site = add i64 %split, {first_site - 1}
  call void @report(ptr %ctx, i64 %site, i64 %group, i64 %local, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0)
  ret void
}}
"""


def watched_function() -> str:
    """Returns `@watched(ctx, site, group, local)`, which appends a store event with the current watched bytes."""
    return f"""
define internal void @watched(ptr %ctx, i64 %site, i64 %group, i64 %local) #1 {{
entry:
  %pn = getelementptr i8, ptr %ctx, i64 {context.WATCH_COUNT * 8}
  %n = atomicrmw add ptr %pn, i64 1 monotonic
  %pc = getelementptr i8, ptr %ctx, i64 {context.WATCH_CAPACITY * 8}
  %capacity = load i64, ptr %pc, align 8
  %room = icmp ult i64 %n, %capacity
  br i1 %room, label %keep, label %done
keep:
  %pe = getelementptr i8, ptr %ctx, i64 {context.WATCH_EVENTS * 8}
  %events = load ptr, ptr %pe, align 8
  %at = mul i64 %n, {context.EVENT_WORDS * 8}
  %event = getelementptr i8, ptr %events, i64 %at
  %e1 = getelementptr i8, ptr %event, i64 8
  %e2 = getelementptr i8, ptr %event, i64 16
  %e3 = getelementptr i8, ptr %event, i64 24
  %pl = getelementptr i8, ptr %ctx, i64 {context.WATCH_LOW * 8}
  %low = load ptr, ptr %pl, align 8
  %lown = ptrtoint ptr %low to i64
  %ph = getelementptr i8, ptr %ctx, i64 {context.WATCH_HIGH * 8}
  %high = load i64, ptr %ph, align 8
  %size = sub i64 %high, %lown
  store i64 %site, ptr %event, align 8
  store i64 %group, ptr %e1, align 8
  store i64 %local, ptr %e2, align 8
  br label %copy
copy:
  %i = phi i64 [ 0, %keep ], [ %i.next, %copy ]
  %bits = phi i64 [ 0, %keep ], [ %bits.next, %copy ]
  %pb = getelementptr i8, ptr %low, i64 %i
  %byte = load volatile i8, ptr %pb, align 1
  %wide = zext i8 %byte to i64
  %shift = shl i64 %i, 3
  %up = and i64 %shift, 63
  %placed = shl i64 %wide, %up
  %bits.next = or i64 %bits, %placed
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %size
  br i1 %more, label %copy, label %kept
kept:
  store i64 %bits.next, ptr %e3, align 8
  br label %done
done:
  ret void
}}
"""


def _group_items(plan: KernelPlan) -> str:
    """Returns lines that define `%items`, the number of work-items of the group. Only ranges of linear ids need it to be
    exact."""
    spec = plan.unit.spec
    if spec.uniform or not plan.by_subgroup:
        return f"  %items = add i64 0, {spec.items}"
    t = Text(label="go", prefix="items.")
    total = ""
    least = plan.unit.declare("llvm.umin.i64", "i64", "i64, i64")
    for axis, name in enumerate(("%gx", "%gy", "%gz")):
        whole = context.read(t, context.GLOBAL_SIZE + axis)
        rest = t.op(f"sub i64 {whole}, {t.op(f'mul i64 {name}, {spec.local_size[axis]}')}")
        size = t.op(f"call {least}(i64 {rest}, i64 {spec.local_size[axis]})")
        total = t.op(f"mul i64 {total}, {size}") if total else size
    return "\n".join([*t.lines, f"  %items = add i64 0, {total}"])


def _zero_ranges(ranges: list[ArenaRange], prefix: str) -> tuple[str, str]:
    """Returns the lines that address these ranges of the arena, and the lines that zero them."""
    address, clear = "", ""
    for number, (offset, nbytes) in enumerate(ranges):
        address += f"  %{prefix}{number} = getelementptr i8, ptr %arena, i64 {offset}\n"
        clear += f"  call void @llvm.memset.p0.i64(ptr %{prefix}{number}, i8 0, i64 {nbytes}, i1 false)\n"
    return address, clear


def _scheduled_group(plan: KernelPlan) -> tuple[str, str, str]:
    """Returns the lines of level full for: once per worker; the group `%gl` of step `%turn`; the start of each group."""
    once = "".join(_zero_ranges([r for check in plan.checks for r in check.zeroed_per_worker], "once"))
    address, start = _zero_ranges([r for check in plan.checks for r in check.zeroed_per_group], "each")
    once += address
    if plan.counts_epochs:
        start = "  call void @shadow.group(ptr %ctx, i64 %turn)\n" + start
    if not plan.scheduled:
        return once, "  %gl = add i64 %turn, 0", start
    t = Text(label="go", prefix="turn.")
    table = context.read(t, context.GROUP_ORDER, "ptr")
    chosen = t.op(f"load i32, ptr {t.op(f'getelementptr i32, ptr {table}, i64 %turn')}, align 4")
    t.do(f"%gl = zext i32 {chosen} to i64")
    return once, "\n".join(t.lines), start


def worker_functions(plan: KernelPlan) -> str:
    """Returns `void @worker(ctx, args, mem)`, which is exported. It sets the processor's float mode, runs chunks of groups,
    and restores the mode.

    The groups run in `@groups`, which is never inlined: no float operation may move across the mode switch.
    """
    for name in ("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr"):
        plan.unit.declare(name, "void", "ptr")
    plan.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
    t = Text()
    local = plan.unit.local_bytes
    fresh = f"  call void @llvm.memset.p0.i64(ptr %mem, i8 -1, i64 {local}, i1 false)\n" if local else ""
    chunk, count = context.read(t, context.CHUNK), context.read(t, context.GROUP_COUNT)
    nx, ny = context.read(t, context.NUM_GROUPS), context.read(t, context.NUM_GROUPS + 1)
    next_group = context.field(t, context.NEXT_GROUP)
    stop, left_out = context.field(t, context.STOP), context.field(t, context.LEFT_OUT)
    setup = "\n".join(t.lines)
    size = _group_items(plan)
    once, which, start = _scheduled_group(plan)
    zero_lines, flush_lines = (
        "".join(f"{line}\n" for line in lines)
        for lines in (event_counters.zero_counters(plan.unit), event_counters.flush_counters(plan.unit))
    )
    return f"""
define internal void @groups(ptr %ctx, ptr noalias %args, ptr noalias %mem) #2 {{
entry:
{setup}
  %arena = getelementptr i8, ptr %mem, i64 {local}
{once}{zero_lines}  br label %take
take:
  %from = atomicrmw add ptr {next_group}, i64 {chunk} monotonic
  %any = icmp ult i64 %from, {count}
  br i1 %any, label %some, label %end
some:
  %past = add i64 %from, {chunk}
  %inside = icmp ult i64 %past, {count}
  %to = select i1 %inside, i64 %past, i64 {count}
  br label %group
group:
  %turn = phi i64 [ %from, %some ], [ %turn.next, %next ]
  %stop = load atomic i64, ptr {stop} monotonic, align 8
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %left, label %go
left:
  store atomic i64 1, ptr {left_out} monotonic, align 8
  br label %end
go:
{which}
  %gx = urem i64 %gl, {nx}
  %rest = udiv i64 %gl, {nx}
  %gy = urem i64 %rest, {ny}
  %gz = udiv i64 %rest, {ny}
{fresh}{start}{size}
  %r = call i64 @group(ptr %ctx, ptr %args, ptr %mem, ptr %arena, i64 %gx, i64 %gy, i64 %gz, i64 %gl, i64 0, i64 %items)
  br label %next
next:
  %turn.next = add i64 %turn, 1
  %more = icmp ult i64 %turn.next, %to
  br i1 %more, label %group, label %take
end:
{flush_lines}  ret void
}}

define void @worker(ptr %ctx, ptr %args, ptr %mem) #2 {{
entry:
  %before = alloca i32, align 4
  %during = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %before)
  %pb = getelementptr i8, ptr %ctx, i64 {context.CONTROL_WORD * 8}
  %mode = load i32, ptr %pb, align 8
  store i32 %mode, ptr %during, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %during)
  call void @groups(ptr %ctx, ptr %args, ptr %mem)
  call void @llvm.x86.sse.ldmxcsr(ptr %before)
  ret void
}}
"""
