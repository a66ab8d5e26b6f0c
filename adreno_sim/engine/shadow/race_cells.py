"""Race cells: the last accesses of each unit of memory, and the functions that compare them with the current access.

A cell consists of 64-bit words: the last write and, if the memory is also read, two readers of the current epoch and group
and one reader of an earlier group. A word holds, from the top: epoch (32 bits), local id (16), READ, ATOMIC, number of the
access in the source (14). Words below `limit` are from earlier launches (in local memory: earlier epochs) and are ignored.
"""

from __future__ import annotations

from ..abi import context

WRITTEN, READER, SECOND, EARLIER = 0, 8, 16, 24
READ, ATOMIC, ACCESS = 0x8000, 0x4000, 0x3FFF
"""READ: the write was read since. ATOMIC: the access was atomic. ACCESS: the bits of its number."""
OWN = 1 << 16
"""Words that differ only below this bit belong to the same work-item and epoch."""

READ_AFTER_WRITE, WRITE_AFTER_WRITE, WRITE_AFTER_READ, OVERWRITTEN = 0, 1, 2, 3
"""How two accesses conflict. OVERWRITTEN is a dead store of one work-item."""

VALUES = 6
_VALUES = ", ".join(f"i64 %v{i}" for i in range(VALUES))


def _field(name: str, word: int) -> str:
    return f"  %{name}.p = getelementptr i8, ptr %ctx, i64 {word * 8}\n  %{name} = load i64, ptr %{name}.p, align 8\n"


def concurrent_function(wave: int | None) -> str:
    """Returns `@shadow.concurrent(ctx, word, mine, since)`: whether the access `word` (not before limit) and `mine` are
    unordered.

    `wave`: the size of sub-groups, whose synchronisation points order accesses of their own work-items; None without sub-
    groups.
    """
    ordered = ""
    result = "%here"
    if wave is not None:
        ordered = f"""  %theirs.wave = udiv i64 %theirs, {wave}
  %ours.wave = udiv i64 %ours, {wave}
  %together = icmp eq i64 %theirs.wave, %ours.wave
  %tick = and i64 %mine, -4294967296
  %before = icmp ult i64 %word, %tick
  %ordered = and i1 %together, %before
  %apart = xor i1 %ordered, true
  %here.apart = and i1 %here, %apart
"""
        result = "%here.apart"
    return f"""
define internal i1 @shadow.concurrent(ptr %ctx, i64 %word, i64 %mine, i64 %since) #1 {{
entry:
{_field("group", context.GROUP_EPOCH)}  %elsewhere = icmp ult i64 %word, %group
  %theirs.up = lshr i64 %word, 16
  %theirs = and i64 %theirs.up, 65535
  %ours.up = lshr i64 %mine, 16
  %ours = and i64 %ours.up, 65535
  %differ = icmp ne i64 %theirs, %ours
  %recent = icmp uge i64 %word, %since
  %here = and i1 %differ, %recent
{ordered}  %result = or i1 %elsewhere, {result}
  ret i1 %result
}}
"""


def read_function() -> str:
    """Returns `@shadow.read(ctx, cells, count, mine, limit, since, group, values)`, which checks and records a read of
    `count` cells."""
    return f"""
define internal void @shadow.read(ptr %ctx, ptr %cells, i64 %count, i64 %mine, i64 %limit, i64 %since, i64 %gl, {_VALUES}) #1 {{
entry:
{_field("group", context.GROUP_EPOCH)}  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %go = icmp ult i64 %i, %count
  br i1 %go, label %cell, label %end
cell:
  %pw = getelementptr [32 x i8], ptr %cells, i64 %i
  %pa = getelementptr i8, ptr %pw, i64 {READER}
  %pb = getelementptr i8, ptr %pw, i64 {SECOND}
  %pe = getelementptr i8, ptr %pw, i64 {EARLIER}
  %w = load i64, ptr %pw, align 8
  %known = icmp uge i64 %w, %limit
  br i1 %known, label %written, label %readers
written:
  %xw = xor i64 %w, %mine
  %own = icmp ult i64 %xw, {OWN}
  br i1 %own, label %flag, label %other
other:
  %clash = call i1 @shadow.concurrent(ptr %ctx, i64 %w, i64 %mine, i64 %since)
  %both = and i64 %w, %mine
  %atomic = and i64 %both, {ATOMIC}
  %plain = icmp eq i64 %atomic, 0
  %race = and i1 %clash, %plain
  br i1 %race, label %record, label %flag
record:
  call void @shadow.record(ptr %ctx, i64 {READ_AFTER_WRITE}, i64 %mine, i64 %w, i64 0, i64 %gl, {_VALUES})
  br label %flag
flag:
  %w.read = or i64 %w, {READ}
  store i64 %w.read, ptr %pw, align 8
  br label %readers
readers:
  %a = load i64, ptr %pa, align 8
  %xa = xor i64 %a, %mine
  %a.own = icmp ult i64 %xa, {OWN}
  br i1 %a.own, label %next, label %first
first:
  %a.now = icmp uge i64 %a, %since
  br i1 %a.now, label %second, label %fresh
second:
  %b = load i64, ptr %pb, align 8
  %b.now = icmp uge i64 %b, %since
  br i1 %b.now, label %next, label %also
also:
  store i64 %mine, ptr %pb, align 8
  br label %next
fresh:
  %a.launch = icmp uge i64 %a, %limit
  %a.before = icmp ult i64 %a, %group
  %a.keep = and i1 %a.launch, %a.before
  br i1 %a.keep, label %keep, label %set
keep:
  store i64 %a, ptr %pe, align 8
  br label %set
set:
  store i64 %mine, ptr %pa, align 8
  br label %next
next:
  %i.next = add i64 %i, 1
  br label %head
end:
  ret void
}}
"""


SAME, ALLOWS_OVERWRITE = 1, 2
"""Bits of `mode`: the write leaves the value unchanged; overwriting a value of one's own is no finding."""


def _against_reader(name: str, offset: int, here: str, after: str) -> str:
    return f"""{here}:
  %p{name} = getelementptr i8, ptr %pw, i64 {offset}
  %{name} = load i64, ptr %p{name}, align 8
  %{name}.known = icmp uge i64 %{name}, %limit
  %x{name} = xor i64 %{name}, %mine
  %{name}.other = icmp uge i64 %x{name}, {OWN}
  %{name}.look = and i1 %{name}.known, %{name}.other
  br i1 %{name}.look, label %{name}.ask, label %{after}
{name}.ask:
  %{name}.clash = call i1 @shadow.concurrent(ptr %ctx, i64 %{name}, i64 %mine, i64 %since)
  %{name}.both = and i64 %{name}, %mine
  %{name}.atomic = and i64 %{name}.both, {ATOMIC}
  %{name}.plain = icmp eq i64 %{name}.atomic, 0
  %{name}.race = and i1 %{name}.clash, %{name}.plain
  br i1 %{name}.race, label %{name}.record, label %{after}
{name}.record:
  call void @shadow.record(ptr %ctx, i64 {WRITE_AFTER_READ}, i64 %mine, i64 %{name}, i64 %same, i64 %gl, {_VALUES})
  br label %{after}
"""


def write_function() -> str:
    """Returns `@shadow.write(ctx, cells, count, stride, mine, limit, since, group, mode, values)`, which checks a write of
    `count` cells.

    `stride` is the size of a cell in bytes: 8 if nobody reads. The cells are not modified.
    """
    against = (
        _against_reader("a", READER, "first", "second")
        + _against_reader("b", SECOND, "second", "third")
        + _against_reader("e", EARLIER, "third", "next")
    )
    epoch = "i64 %mine, i64 %limit, i64 %since, i64 %gl"
    return f"""
define internal void @shadow.write(ptr %ctx, ptr %cells, i64 %count, i64 %stride, {epoch}, i64 %mode, {_VALUES}) #1 {{
entry:
  %same = and i64 %mode, {SAME}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %go = icmp ult i64 %i, %count
  br i1 %go, label %cell, label %end
cell:
  %at = mul i64 %i, %stride
  %pw = getelementptr i8, ptr %cells, i64 %at
  %w = load i64, ptr %pw, align 8
  %known = icmp uge i64 %w, %limit
  br i1 %known, label %written, label %readers
written:
  %xw = xor i64 %w, %mine
  %own = icmp ult i64 %xw, {OWN}
  br i1 %own, label %again, label %other
again:
  %seen = and i64 %w, {READ}
  %unseen = icmp eq i64 %seen, 0
  %loud = icmp eq i64 %mode, 0
  %lone = and i64 %mine, {ATOMIC}
  %lone.plain = icmp eq i64 %lone, 0
  %dead = and i1 %unseen, %loud
  %lost = and i1 %dead, %lone.plain
  br i1 %lost, label %overwritten, label %readers
overwritten:
  call void @shadow.record(ptr %ctx, i64 {OVERWRITTEN}, i64 %mine, i64 %w, i64 0, i64 %gl, {_VALUES})
  br label %readers
other:
  %clash = call i1 @shadow.concurrent(ptr %ctx, i64 %w, i64 %mine, i64 %since)
  %both = and i64 %w, %mine
  %atomic = and i64 %both, {ATOMIC}
  %plain = icmp eq i64 %atomic, 0
  %race = and i1 %clash, %plain
  br i1 %race, label %record, label %readers
record:
  call void @shadow.record(ptr %ctx, i64 {WRITE_AFTER_WRITE}, i64 %mine, i64 %w, i64 %same, i64 %gl, {_VALUES})
  br label %readers
readers:
  %wide = icmp eq i64 %stride, 32
  br i1 %wide, label %first, label %next
{against}next:
  %i.next = add i64 %i, 1
  br label %head
end:
  ret void
}}
"""


def fill_function() -> str:
    """Returns `@shadow.fill(cells, count, stride, mine)`, which records a write of `count` cells."""
    return """
define internal void @shadow.fill(ptr %cells, i64 %count, i64 %stride, i64 %mine) #3 {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %cell ]
  %go = icmp ult i64 %i, %count
  br i1 %go, label %cell, label %end
cell:
  %at = mul i64 %i, %stride
  %p = getelementptr i8, ptr %cells, i64 %at
  store i64 %mine, ptr %p, align 8
  %i.next = add i64 %i, 1
  br label %head
end:
  ret void
}
"""


def record_function(items: int) -> str:
    """Returns `@shadow.record(ctx, how, mine, before, same, group, values)`, which counts a conflict and keeps the first in
    work-item order."""
    values = "".join(
        f"  %r{i} = getelementptr i8, ptr %rec, i64 {(context.RACE_VALUES + i) * 8}\n  store i64 %v{i}, ptr %r{i}, align 8\n"
        for i in range(VALUES)
    )

    def at(name: str, word: int) -> str:
        return f"  %{name} = getelementptr i8, ptr %rec, i64 {word * 8}\n"

    return f"""
define internal void @shadow.record(ptr %ctx, i64 %how, i64 %mine, i64 %before, i64 %same, i64 %gl, {_VALUES}) #1 {{
entry:
  %ours = and i64 %mine, {ACCESS}
  %theirs = and i64 %before, {ACCESS}
  %how.up = shl i64 %how, 32
  %ours.up = shl i64 %ours, 16
  %key.low = or i64 %ours.up, %theirs
  %key = or i64 %how.up, %key.low
  %slot.up = lshr i64 %mine, 16
  %local = and i64 %slot.up, 65535
  %major = mul i64 %gl, {items}
  %order = add i64 %major, %local
{_field("count", context.RACE_COUNT)}  %races.p = getelementptr i8, ptr %ctx, i64 {context.RACES * 8}
  %races = load ptr, ptr %races.p, align 8
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %rec = getelementptr [{context.RACE_WORDS * 8} x i8], ptr %races, i64 %i
  %any = icmp ult i64 %i, %count
  br i1 %any, label %compare, label %append
compare:
  %theirkey = load i64, ptr %rec, align 8
  %found = icmp eq i64 %theirkey, %key
  br i1 %found, label %hit, label %next
next:
  %i.next = add i64 %i, 1
  br label %head
append:
  %room = icmp ult i64 %count, {context.RACE_CAPACITY}
  br i1 %room, label %new, label %end
new:
  store i64 %key, ptr %rec, align 8
  %n = add i64 %count, 1
  store i64 %n, ptr %count.p, align 8
{at("order.new", context.RACE_ORDER)}  store i64 -1, ptr %order.new, align 8
  br label %hit
hit:
{at("hits.p", context.RACE_HITS)}  %hits = load i64, ptr %hits.p, align 8
  %hits.next = add i64 %hits, 1
  store i64 %hits.next, ptr %hits.p, align 8
{at("same.p", context.RACE_SAME)}  %sames = load i64, ptr %same.p, align 8
  %sames.next = add i64 %sames, %same
  store i64 %sames.next, ptr %same.p, align 8
{at("order.p", context.RACE_ORDER)}  %least = load i64, ptr %order.p, align 8
  %earlier = icmp ult i64 %order, %least
  br i1 %earlier, label %keep, label %end
keep:
  store i64 %order, ptr %order.p, align 8
{at("group.p", context.RACE_GROUP)}  store i64 %gl, ptr %group.p, align 8
{at("local.p", context.RACE_LOCAL)}  store i64 %local, ptr %local.p, align 8
{at("before.p", context.RACE_BEFORE)}  store i64 %before, ptr %before.p, align 8
{values}  br label %end
end:
  ret void
}}
"""
