"""The logical clock of level full: an epoch starts whenever work-items enter a region. A fence sets the epoch from which
accesses of the group count as unordered."""

from __future__ import annotations

from ...ir import ir
from ...ir.builtins import builtin_of
from ..abi import context
from ..analysis.segments import SyncPoint

_LOCAL_FENCE, _GLOBAL_FENCES = 1, 6  # CLK_LOCAL_MEM_FENCE; CLK_GLOBAL_MEM_FENCE and CLK_IMAGE_MEM_FENCE
_STEP = 1 << 32


def fences(sync: SyncPoint) -> tuple[bool, bool]:
    """Returns whether a synchronisation point orders accesses to local memory, and to global memory and images; (True, True)
    if the flags are not constant."""
    if not builtin_of(sync.instr).fence_flags or not sync.instr.operands:
        return True, True
    flags = sync.instr.operands[0]
    if not isinstance(flags, ir.Const) or not isinstance(flags.value, int):
        return True, True
    return bool(flags.value & _LOCAL_FENCE), bool(flags.value & _GLOBAL_FENCES)


def epoch_function() -> str:
    """Returns `@shadow.tick(ctx)`, which starts the next epoch and returns it."""
    return f"""
define internal i64 @shadow.tick(ptr %ctx) #3 {{
entry:
  %p = getelementptr i8, ptr %ctx, i64 {context.EPOCH * 8}
  %now = load i64, ptr %p, align 8
  %next = add i64 %now, {_STEP}
  store i64 %next, ptr %p, align 8
  ret i64 %next
}}
"""


def group_function() -> str:
    """Returns `@shadow.group(ctx, turn)`, which starts a group."""
    stores = "".join(
        f"  %p{word} = getelementptr i8, ptr %ctx, i64 {word * 8}\n  store i64 %tick, ptr %p{word}, align 8\n"
        for word in (context.GROUP_EPOCH, context.SINCE_LOCAL, context.SINCE_GLOBAL)
    )
    return f"""
define internal void @shadow.group(ptr %ctx, i64 %turn) #3 {{
entry:
  %tick = call i64 @shadow.tick(ptr %ctx)
{stores}  %pt = getelementptr i8, ptr %ctx, i64 {context.GROUP_EPOCHS * 8}
  %ticks = load ptr, ptr %pt, align 8
  %slot = getelementptr i64, ptr %ticks, i64 %turn
  store i64 %tick, ptr %slot, align 8
  ret void
}}
"""


def met_function(syncs: list[SyncPoint]) -> str:
    """Returns `@shadow.met(ctx, split)`, which records that all work-items of a group met at a synchronisation point."""
    cases, blocks = "", ""
    for sync in syncs:
        local, far = fences(sync)
        words = [context.SINCE_LOCAL] * local + [context.SINCE_GLOBAL] * far
        cases += f" i64 {sync.number}, label %s{sync.number}"
        blocks += f"s{sync.number}:\n"
        for word in words:
            name = f"%s{sync.number}.{word}"
            blocks += f"  {name} = getelementptr i8, ptr %ctx, i64 {word * 8}\n  store i64 %next, ptr {name}, align 8\n"
        blocks += "  ret void\n"
    return f"""
define internal void @shadow.met(ptr %ctx, i64 %split) #3 {{
entry:
  %p = getelementptr i8, ptr %ctx, i64 {context.EPOCH * 8}
  %now = load i64, ptr %p, align 8
  %next = add i64 %now, {_STEP}
  switch i64 %split, label %none [{cases} ]
{blocks}none:
  ret void
}}
"""
