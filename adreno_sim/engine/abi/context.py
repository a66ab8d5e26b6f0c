"""The context block: the memory through which a launch and its machine code communicate, and the position of each field.

Every field is a 64-bit word. Emitters use the constants as byte offsets (times 8), `launch` as word indices.
"""

from __future__ import annotations

from ..llvm.text import Text

FIRST_GROUP = 0
STOP = 8  # set to end the launch early: watchdog or interrupt; own cache line, as loops poll it
GROUP_COUNT = 16  # the group after the last
CHUNK = 17  # groups that a worker takes at once
NUM_GROUPS = 18  # three words
GLOBAL_OFFSET = 21  # three words
GLOBAL_SIZE = 24  # three words
WORK_DIM = 27
SITES = 28  # address of the site records
WATCH_LOW = 29
WATCH_HIGH = 30
WATCH_EVENTS = 31  # address
WATCH_COUNT = 32  # counter
WATCH_CAPACITY = 33
PRINT_BUFFER = 34  # address
PRINT_USED = 35  # counter, bytes asked for (may exceed the capacity)
PRINT_CAPACITY = 36
FLUSHES = 37  # whether float operations flush denormals while kernels run
FAULT_FLAG = 38  # set when a deferred check failed
EXECUTED = 39  # accesses, where they are counted
EXECUTED_PROVEN = 40  # those of them that were proven in range
LEFT_OUT = 41  # set when a worker found groups to do, but the launch stopped
COUNTERS = 42  # address of the counter block (`abi.counting`), of counted launches
SHARES = 43  # into which the groups are divided, each with a worker that begins with it

# Level full. An epoch counts the times a worker began with a region; words hold it in the upper half, as race cells do.
LAUNCH_EPOCH = 48  # the first epoch of this launch
EPOCH = 49  # the epoch of the region that runs
SINCE_LOCAL = 50  # the first epoch since work-items of the group last met with a fence for local memory
SINCE_GLOBAL = 51  # the same for global memory
GROUP_EPOCH = 52  # the first epoch of this group
GROUP_ORDER = 53  # address: for each step the linear number of the group (32 bits)
ITEM_ORDER = 54  # address: for each step the local id of the work-item (32 bits)
GROUP_EPOCHS = 55  # address: the first epoch of the group of each step
RACES = 56  # address of the race records
RACE_COUNT = 57
MISSING_FLAGS = 58  # flags that some work-item did not give at the barrier that the group has reached, of those that a run knows
SINCE_IMAGES = 59  # as SINCE_LOCAL, for images
TAKEN = 64  # counters: the groups of each share that are taken; a cache line each
SHARE_WORDS = 8
MOST_SHARES = 16
WORDS = TAKEN + SHARE_WORDS * MOST_SHARES

# One record per site: how often it fired, and the first occurrence in the order (group, work-item).
SITE_COUNT, SITE_LOCK, SITE_ORDER, SITE_GROUP, SITE_LOCAL, SITE_VALUES = 0, 1, 2, 3, 4, 5
SITE_VALUE_COUNT = 8
SITE_WORDS = 16

# One race record: pair of accesses and how they clash, occurrences, those that left the value as it was, and the first
# occurrence in the order (group, work-item) as in a site record, with the cell that recorded the earlier access.
RACE_KEY, RACE_HITS, RACE_SAME, RACE_ORDER, RACE_GROUP, RACE_LOCAL, RACE_BEFORE, RACE_MINE, RACE_VALUES = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
)
RACE_WORDS = 16
RACE_CAPACITY = 1024

# One watch event: site, group, local, value bits.
EVENT_WORDS = 4


def field(t: Text, word: int, base: str = "%ctx") -> str:
    """Emits the address of a context word and returns it."""
    return t.op(f"getelementptr i8, ptr {base}, i64 {word * 8}")


def read(t: Text, word: int, type: str = "i64") -> str:
    """Emits the load of a context word that does not change during a launch, and returns it."""
    return t.op(f"load {type}, ptr {field(t, word)}, align 8, !invariant.load !1")
