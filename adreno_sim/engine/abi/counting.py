"""The counter block: the memory through which a counted launch and its machine code communicate, in 64-bit words.

Its head comes first, then a counter for each segment of the kernel, then the records of its places: the instructions that
access memory, and the branches.
"""

TRACE_ON = 0  # whether the waves of the group that runs are traced
TRACE_MOST = 1  # groups that are to be traced
TRACE_OF = 2  # groups of the launch
TRACE_SPENT = 3  # accesses and branches of work-items that were traced
TRACED_GROUPS = 4
TRACED_WAVES = 5
WAVE_ITEMS = 6  # work-items of a wave
LINE_SHIFT = 7  # binary logarithm of the bytes of a cache line
RUNNING_GROUP = 8  # linear id of the group that runs, plus 1
RUNNING_WAVE = 9
LAST_LANE = 10  # the work-item of the group that ran last
COUNTED_ITEMS = 11
COUNTED_BARRIERS = 12  # barriers that groups executed
NEXT_TRACED = 13  # the group that is traced next, counted from the first that runs

# What is traced of a wave between two synchronisation points is kept in one table, the lines that it reads in another. The
# first grows, into the memory beside it, so that what a wave does with little stays in the processor's caches.
WAVE_TABLE = 14  # address of the entries
WAVE_OTHER = 15  # address of the memory beside it
WAVE_SIZE = 16  # entries that the table has now
WAVE_STAMP = 17  # entries with another stamp are free
WAVE_USED = 18  # entries in use
WAVE_NUMBER = 19  # counts the waves
WAVE_KEPT = 20  # entries kept for what the wave has begun to execute, whatever its other work-items access
WAVE_MOST = 21
PLACE_MOST = 22  # those that one instruction may have when half of WAVE_MOST are taken
LINE_TABLE = 23
LINE_STAMP = 24
LINE_USED = 25

SPANS = 26  # address of the span records: one for each argument of the kernel
SPAN_COUNT = 27
COUNTED_GROUPS = 28  # groups that began
HELD = 29  # address of what a work-item holds in registers, in the order read: address and bytes; 0 where nothing is held
HELD_READS = 30  # reads that went there since the work-item began
COUNT_HEAD = 32  # words of the head

# A span record: where the argument lies, bits for each of its bytes, how often traced waves read it, and how many lines.
SPAN_BASE, SPAN_BYTES, SPAN_READ, SPAN_WRITTEN, SPAN_VISITS, SPAN_LINES, SPAN_WORDS = 0, 1, 2, 3, 4, 5, 8

# A record of a place. runs: executions by work-items, of an access; bytes: accessed, where they vary; traced: executions that
# were traced; waves: executions by waves. lines: cache lines that waves touched, or passes of local memory, or branches that
# diverged; least: the fewest that it could have been. kept: entries of the table for it, in the wave `wave`. held: reads of
# what the work-item held already, which are not traced.
PLACE_RUNS, PLACE_BYTES, PLACE_TRACED, PLACE_WAVES, PLACE_LINES, PLACE_LEAST, PLACE_KEPT, PLACE_WAVE = 0, 1, 2, 3, 4, 5, 6, 7
PLACE_HELD = 8
PLACE_WORDS = 9

# How a place accesses memory: the argument, whether it reads and writes, and what is traced.
HOW_SPAN, HOW_READS, HOW_WRITES, HOW_LINES, HOW_BANKS = 0xFFFF, 1 << 16, 1 << 17, 1 << 18, 1 << 19
NO_SPAN = 0xFFFF

# An entry of a table.
ENTRY_KEY, ENTRY_STAMP, ENTRY_COUNT, ENTRY_EXTRA, ENTRY_WORDS = 0, 1, 2, 3, 4
WAVE_ENTRIES, LEAST_ENTRIES = 1 << 20, 1 << 10
LINE_ENTRIES = 1 << 15

TRACE_BUDGET = 1 << 23
"""Accesses and branches of work-items that are traced in a launch, about: as many groups as are likely to need them."""
HELD_MOST = 32
"""Reads that a work-item holds in registers: 512 bytes, if they are of 128 bits."""
TRACED_BYTES = 4096
"""The most bytes of an access that is traced; a block copy may be longer."""

TEXEL_BLOCK = 4, 2
"""Texels along x and y that a cache line of a texture holds, whatever the size of a texel: of the shapes tried, the one that
explains measured times of two texel sizes best (docs/time.md)."""

BANKS, BANK_BYTES = 32, 4
"""The model of local memory: a pass serves one word of each bank, and a word that several work-items need serves them all."""
