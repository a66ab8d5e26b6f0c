"""The counter block: the memory through which a counted launch and its machine code communicate, in 64-bit words.

Its head comes first, then a counter for each segment of the kernel, then the records of its places: the instructions that
access memory, and the branches.
"""

TRACE_ON = 0  # whether the waves of the group that runs are traced
TRACE_MOST = 1  # groups that are to be traced
TRACE_OF = 2  # groups of the launch
TRACE_BUDGET = 3  # accesses and branches of work-items that may still be traced; no group is begun when none is left
TRACED_GROUPS = 4
TRACED_WAVES = 5
WAVE_ITEMS = 6  # work-items of a wave
LINE_SHIFT = 7  # binary logarithm of the bytes of a cache line
RUNNING_GROUP = 8  # linear id of the group that runs, plus 1
RUNNING_WAVE = 9
LAST_LANE = 10  # the work-item of the group that ran last
COUNTED_ITEMS = 11
COUNTED_BARRIERS = 12  # barriers that groups executed

# What is traced of a wave between two synchronisation points is kept in one table, the lines of its images in another.
WAVE_TABLE = 16  # address of the entries
WAVE_STAMP = 17  # entries with another stamp are free
WAVE_KEYS = 18  # executions of instructions by the wave that the table holds
WAVE_MOST_KEYS = 19
PLACE_MOST_KEYS = 20  # those that one instruction may have when half of WAVE_MOST_KEYS are taken
WAVE_USED = 21  # entries in use
IMAGE_TABLE = 22
IMAGE_STAMP = 23
IMAGE_USED = 24

SPANS = 25  # address of the span records: one for each argument of the kernel
SPAN_COUNT = 26
COUNT_HEAD = 32  # words of the head

# A span record: where the argument lies, bits for each of its bytes, and (images) what waves read of it.
SPAN_BASE, SPAN_BYTES, SPAN_READ, SPAN_WRITTEN, SPAN_TEXELS, SPAN_LINES, SPAN_WORDS = 0, 1, 2, 3, 4, 5, 8

# A record of a place. runs: executions by work-items; traced: those that were traced; waves: executions by waves. lines: cache
# lines that waves touched, or passes of local memory, or branches that diverged; least: the fewest that it could have been.
PLACE_RUNS, PLACE_BYTES, PLACE_TRACED, PLACE_WAVES, PLACE_LINES, PLACE_LEAST, PLACE_KEYS, PLACE_STAMP = 0, 1, 2, 3, 4, 5, 6, 7
PLACE_WORDS = 8

# How a place accesses memory: the argument, whether it reads and writes, and what is traced.
HOW_SPAN, HOW_READS, HOW_WRITES, HOW_LINES, HOW_BANKS, HOW_IMAGE = 0xFFFF, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20
NO_SPAN = 0xFFFF

# An entry of a table.
ENTRY_KEY, ENTRY_STAMP, ENTRY_COUNT, ENTRY_EXTRA, ENTRY_WORDS = 0, 1, 2, 3, 4
WAVE_ENTRIES = 1 << 19
IMAGE_ENTRIES = 1 << 17

TRACED_BYTES = 4096
"""The most bytes of an access that is traced; a block copy may be longer."""
SPARE_ENTRIES = 1024
"""Entries that one access takes at most."""

BANKS, BANK_BYTES = 32, 4
"""The model of local memory: a pass serves one word of each bank, and a word that several work-items want serves them all."""
