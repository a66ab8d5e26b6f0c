"""Native code by which a launching thread hands work to other threads without the interpreter or its lock.

Each thread waits at a mailbox: a few words of memory, zero while there is nothing to do. A launch writes what to call, then
the state, and wakes the thread with a futex. Both sides spin on the state for some microseconds before they sleep. The
launching thread takes back and runs what no thread has started when it is done with its own part, so a launch never waits for
a busy processor.
"""

from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

from ..caching import compiled_cache
from ..llvm import objects

CALL, MAILBOX_WORDS = 8, 16
"""A mailbox in 64-bit words: its state, and on a cache line of its own the call (code, context, arguments, private memory)."""

_PUBLISHED, _RUNNING, _AWAITED = 1, 2, 4  # bits of the state; awaited: whoever offered it sleeps until it is 0
SPINS = 5000
"""How often a thread polls a state, with a pause instruction between, before it sleeps."""
_SLEEP, _WAKE = 128, 129  # FUTEX_WAIT and FUTEX_WAKE, of this process alone
_FUTEX = 202  # number of the system call


class FutexPool(NamedTuple):
    """The native functions. They release the GIL; addresses are of mailboxes.

    serve(mailbox): runs the calls published at a mailbox, for ever.
    publish(mailboxes, count): publishes the calls written in consecutive mailboxes, and returns at once.
    join(mailboxes, count): runs calls that no thread has started, waits for the others, and returns how many those were.
    run_and_join(mailboxes, count, code, context, arguments, memory): publishes, makes this call here, and joins.
    wait_idle(mailbox, nanoseconds, spins): spins, then sleeps for at most so long or until a signal; returns whether the
        mailbox is idle.
    """

    loaded: objects.Loaded
    serve: ctypes._CFunctionType
    publish: ctypes._CFunctionType
    join: ctypes._CFunctionType
    run_and_join: ctypes._CFunctionType
    wait_idle: ctypes._CFunctionType


@functools.cache
def futex_pool() -> FutexPool:
    """Returns the functions, compiled once a process."""
    loaded = compiled_cache.load_linked(_text(), "handover")
    word = ctypes.c_size_t
    signatures = [(None, 1), (None, 2), (word, 2), (word, 6), (word, 3)]
    table = (word * len(signatures)).from_address(loaded.address)
    functions = (ctypes.CFUNCTYPE(result, *[word] * count)(at) for at, (result, count) in zip(table, signatures, strict=True))
    return FutexPool(loaded, *functions)


def _text() -> str:
    return f"""
@handover = constant [5 x ptr] [ptr @help, ptr @offer, ptr @finish, ptr @share, ptr @idle]

declare i64 @syscall(i64, ptr, i64, i64, ptr)
declare void @llvm.x86.sse2.pause()

define internal i64 @futex(ptr %word, i64 %operation, i64 %value, ptr %time) {{
  %r = call i64 @syscall(i64 {_FUTEX}, ptr %word, i64 %operation, i64 %value, ptr %time)
  ret i64 %r
}}

define internal ptr @box(ptr %boxes, i64 %number) {{
  %at = mul i64 %number, {MAILBOX_WORDS * 8}
  %box = getelementptr i8, ptr %boxes, i64 %at
  ret ptr %box
}}

define internal void @call(ptr %box) {{
  %p0 = getelementptr i64, ptr %box, i64 {CALL}
  %p1 = getelementptr i64, ptr %box, i64 {CALL + 1}
  %p2 = getelementptr i64, ptr %box, i64 {CALL + 2}
  %p3 = getelementptr i64, ptr %box, i64 {CALL + 3}
  %code = load ptr, ptr %p0
  %context = load ptr, ptr %p1
  %arguments = load ptr, ptr %p2
  %memory = load ptr, ptr %p3
  call void %code(ptr %context, ptr %arguments, ptr %memory)
  ret void
}}

define void @help(ptr %box) {{
entry:
  br label %rest
rest:
  %n = phi i64 [ 0, %entry ], [ 0, %done ], [ 0, %parked ], [ 0, %claim ], [ %n.next, %look ]
  %state = load atomic i32, ptr %box monotonic, align 4
  %offered = and i32 %state, {_PUBLISHED}
  %any = icmp ne i32 %offered, 0
  br i1 %any, label %claim, label %none
none:
  %long = icmp uge i64 %n, {SPINS}
  br i1 %long, label %parked, label %look
look:
  %n.next = add i64 %n, 1
  call void @llvm.x86.sse2.pause()
  br label %rest
parked:
  %slept = call i64 @futex(ptr %box, i64 {_SLEEP}, i64 0, ptr null)
  br label %rest
claim:
  %taken = xor i32 %state, {_PUBLISHED | _RUNNING}
  %pair = cmpxchg ptr %box, i32 %state, i32 %taken acq_rel monotonic, align 4
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %run, label %rest
run:
  call void @call(ptr %box)
  %last = atomicrmw xchg ptr %box, i32 0 acq_rel, align 4
  %asleep = and i32 %last, {_AWAITED}
  %quiet = icmp eq i32 %asleep, 0
  br i1 %quiet, label %done, label %tell
tell:
  %told = call i64 @futex(ptr %box, i64 {_WAKE}, i64 1, ptr null)
  br label %done
done:
  br label %rest
}}

define void @offer(ptr %boxes, i64 %count) {{
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %body ]
  %more = icmp ult i64 %n, %count
  br i1 %more, label %body, label %end
body:
  %box = call ptr @box(ptr %boxes, i64 %n)
  store atomic i32 {_PUBLISHED}, ptr %box release, align 4
  %told = call i64 @futex(ptr %box, i64 {_WAKE}, i64 1, ptr null)
  %n.next = add i64 %n, 1
  br label %head
end:
  ret void
}}

; Sleep once, for `time` at most, unless a box in use was seen to change; whether it is idle.
define internal i1 @sleep(ptr %box, ptr %time) {{
entry:
  %state = load atomic i32, ptr %box acquire, align 4
  %idle = icmp eq i32 %state, 0
  br i1 %idle, label %yes, label %busy
busy:
  %awaited = or i32 %state, {_AWAITED}
  %pair = cmpxchg ptr %box, i32 %state, i32 %awaited acq_rel acquire, align 4
  %unchanged = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %unchanged, label %wait, label %see
wait:
  %value = zext i32 %awaited to i64
  %slept = call i64 @futex(ptr %box, i64 {_SLEEP}, i64 %value, ptr %time)
  br label %see
see:
  %now = load atomic i32, ptr %box acquire, align 4
  %over = icmp eq i32 %now, 0
  ret i1 %over
yes:
  ret i1 true
}}

; Look for a while whether a box becomes idle.
define internal i1 @watch(ptr %box, i64 %looks) {{
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %look ]
  %state = load atomic i32, ptr %box acquire, align 4
  %idle = icmp eq i32 %state, 0
  br i1 %idle, label %end, label %busy
busy:
  %long = icmp uge i64 %n, %looks
  br i1 %long, label %end, label %look
look:
  %n.next = add i64 %n, 1
  call void @llvm.x86.sse2.pause()
  br label %head
end:
  ret i1 %idle
}}

define i64 @finish(ptr %boxes, i64 %count) {{
entry:
  br label %head
head:
  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]
  %taken = phi i64 [ 0, %entry ], [ %taken.next, %next ]
  %more = icmp ult i64 %n, %count
  br i1 %more, label %ask, label %end
ask:
  %box = call ptr @box(ptr %boxes, i64 %n)
  br label %withdraw
withdraw:
  %state = load atomic i32, ptr %box acquire, align 4
  %waiting = and i32 %state, {_PUBLISHED}
  %late = icmp eq i32 %waiting, 0
  br i1 %late, label %watched, label %back
back:
  %pair = cmpxchg ptr %box, i32 %state, i32 0 acq_rel acquire, align 4
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %own, label %withdraw
own:
  call void @call(ptr %box)
  br label %next
watched:
  %soon = call i1 @watch(ptr %box, i64 {SPINS})
  br i1 %soon, label %next, label %wait
wait:
  %over = call i1 @sleep(ptr %box, ptr null)
  br i1 %over, label %next, label %wait
next:
  %by = phi i64 [ 0, %own ], [ 1, %watched ], [ 1, %wait ]
  %taken.next = add i64 %taken, %by
  %n.next = add i64 %n, 1
  br label %head
end:
  ret i64 %taken
}}

define i64 @share(ptr %boxes, i64 %count, ptr %code, ptr %context, ptr %arguments, ptr %memory) {{
  call void @offer(ptr %boxes, i64 %count)
  call void %code(ptr %context, ptr %arguments, ptr %memory)
  %taken = call i64 @finish(ptr %boxes, i64 %count)
  ret i64 %taken
}}

define i64 @idle(ptr %box, i64 %nanoseconds, i64 %looks) {{
entry:
  %soon = call i1 @watch(ptr %box, i64 %looks)
  br i1 %soon, label %yes, label %wait
yes:
  ret i64 1
wait:
  %time = alloca [2 x i64], align 8
  %seconds = udiv i64 %nanoseconds, 1000000000
  %rest = urem i64 %nanoseconds, 1000000000
  %second = getelementptr i64, ptr %time, i64 1
  store i64 %seconds, ptr %time, align 8
  store i64 %rest, ptr %second, align 8
  %over = call i1 @sleep(ptr %box, ptr %time)
  %result = zext i1 %over to i64
  ret i64 %result
}}
"""
