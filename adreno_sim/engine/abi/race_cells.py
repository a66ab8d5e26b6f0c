"""Race cells: what level full keeps of the last accesses of each unit of memory.

A cell consists of 64-bit words: the last write and, if the memory is also read, two readers of the current epoch and group
and one reader of an earlier group. Where there are atomics, two more keep what further atomics would replace: the last one by
another work-item than the last write's, and one of an earlier group. A word holds, from the top: epoch (32 bits), local id (16),
READ, ATOMIC, number of the access in the source (14). Words below a limit are from earlier launches (in local memory: earlier
epochs) and are ignored.
"""

from __future__ import annotations

WRITTEN, READER, SECOND, EARLIER, OTHER_ATOMIC, EARLIER_ATOMIC = 0, 8, 16, 24, 32, 40
"""Byte offsets of the words of a cell. A cell of memory that is never read ends with the first, one without atomics with the
fourth."""
ATOMIC_CELL_WORDS, CELL_WORDS, UNREAD_CELL_WORDS = 6, 4, 1
CELL_BYTES = CELL_WORDS * 8

READ, ATOMIC, ACCESS = 0x8000, 0x4000, 0x3FFF
"""READ: the write was read since. ATOMIC: the access was atomic. ACCESS: the bits of its number."""
OWN = 1 << 16
"""Words that differ only below this bit belong to the same work-item and epoch."""
LOCAL_ID_SHIFT, LOCAL_ID_MASK = 16, 0xFFFF
EPOCH_STEP = 1 << 32
"""The difference of consecutive epochs."""

READ_AFTER_WRITE, WRITE_AFTER_WRITE, WRITE_AFTER_READ, OVERWRITTEN = 0, 1, 2, 3
"""How two accesses conflict. OVERWRITTEN is a dead store of one work-item."""

SAME, ALLOWS_OVERWRITE = 1, 2
"""Bits of the mode of a write: it leaves the value unchanged; overwriting one's own value is not a finding."""

VALUE_COUNT = 6
"""Values of a race record, which describe the later access as those of its diagnostic site do."""
