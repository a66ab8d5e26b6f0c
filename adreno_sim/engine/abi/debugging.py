"""The debug block: the memory through which a launch under the debugger and its machine code communicate, in 64-bit words.

Machine code counts the statements that work-items begin, one work-item after the other: the count names a moment of the launch,
which a second run comes to again. It asks the debugger, which then holds it, at moments that the block names.
"""

DEBUG_COUNT = 0  # statements begun
DEBUG_AT = 1  # the count at which the debugger is asked
DEBUG_GROUP = 2  # linear id of the group that runs, plus 1
DEBUG_LANE = 3  # the work-item of the group that runs
DEBUG_POINT = 4  # the point that it came to last
DEBUG_BEFORE = 5  # the one that it was at before
DEBUG_STEPPING = 6  # the work-item of the group, plus 1, at every statement at which the debugger is asked
DEBUG_FLAGS = 7  # address: a byte for each point, whether the debugger is asked there
DEBUG_BEGINNINGS = 8  # whether it is asked where a work-item begins
DEBUG_CHECKPOINT = 9  # the group, plus 1, before which it is asked
DEBUG_CALLBACK = 10  # address of what asks it
DEBUG_END = 11  # whether the launch is to end
DEBUG_MEMORY = 12  # address of the group's local memory
DEBUG_ARENA = 13  # address of what a worker keeps for the group
DEBUG_FINDING = 14  # the diagnostic site that reported last, plus 1
DEBUG_AT_FINDINGS = 15  # whether the debugger is asked at a report
DEBUG_INTERRUPT = 16  # set by another thread, to be asked at the next statement
DEBUG_GROUP_BEGAN = 17  # the count when the group began
DEBUG_WATCH_LOW = 18  # bytes whose stores are recorded
DEBUG_WATCH_HIGH = 19  # 0 = none
DEBUG_WATCH_LOCAL = 20  # whether they are counted from the start of local memory
DEBUG_STORES = 22  # address of the records of stores; the last ones are kept
DEBUG_STORE_COUNT = 23
DEBUG_STORE_MOST = 24
DEBUG_UNFINISHED = 25  # the number of the store, plus 1, that is about to happen
DEBUG_WORDS = 32

# A record of a store: when, by whom, where in the source, and what the watched bytes then held.
STORE_COUNT, STORE_GROUP, STORE_LANE, STORE_POINT, STORE_ADDRESS, STORE_BYTES, STORE_VALUE, STORE_WORDS = 0, 1, 2, 3, 4, 5, 6, 8
STORE_VALUE_BYTES = 16

# Why the debugger is asked.
ASKED_AT_POINT, ASKED_AT_GROUP, ASKED_AT_FINDING = 0, 1, 2

# What a work-item is at: a point, or one of these.
NOT_BEGUN = 0
FINISHED = 0xFFFFFFFF

# The state of the value of a work-item's variable.
NOT_DECLARED, NO_VALUE, HAS_VALUE = 0, 1, 2
