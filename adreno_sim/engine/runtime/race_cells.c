/* Race cells: comparison of an access with the last accesses of the same memory. `abi/race_cells.py` lays out cells and words.
 *
 * `mine` is the current access as a word of a cell. Words below `limit` are from earlier launches (in local memory: earlier
 * epochs) and are ignored. Accesses of the group from the epoch `since` on are unordered.
 */
#include "kernel.h"

static inline uint64_t *word_of(char *cell, uint64_t offset) { return (uint64_t *)(cell + offset); }

static inline int is_own(uint64_t word, uint64_t mine) { return (word ^ mine) < OWN; }

static inline uint64_t local_id(uint64_t word) { return word >> LOCAL_ID_SHIFT & LOCAL_ID_MASK; }

static inline int is_of_same_subgroup(uint64_t word, uint64_t mine) {
  return kernel_shape.wave && local_id(word) / kernel_shape.wave == local_id(mine) / kernel_shape.wave;
}

/* Returns whether the access `word` (not before limit) and `mine` are unordered. Synchronisation points of a sub-group order
 * accesses of its own work-items. */
static inline int is_unordered(const uint64_t *ctx, uint64_t word, uint64_t mine, uint64_t since) {
  if (word < ctx[GROUP_EPOCH]) return 1;
  if (local_id(word) == local_id(mine) || word < since) return 0;
  const uint64_t now = mine / EPOCH_STEP * EPOCH_STEP;
  return !(is_of_same_subgroup(word, mine) && word < now);
}

static inline int is_race(const uint64_t *ctx, uint64_t word, uint64_t mine, uint64_t since) {
  return !(word & mine & ATOMIC) && is_unordered(ctx, word, mine, since);
}

/* Counts a conflict, and keeps the first in work-item order. same: 1 if the write left the value as it was. */
COLD void shadow_record(
    uint64_t *ctx, uint64_t how, uint64_t mine, uint64_t before, uint64_t same, uint64_t group, VALUE_PARAMETERS) {
  const uint64_t key = how << 32 | (mine & ACCESS) << 16 | (before & ACCESS);
  const uint64_t local = local_id(mine), order = group * kernel_shape.items + local;
  const uint64_t count = ctx[RACE_COUNT];
  uint64_t *record = address_in(ctx, RACES), n = 0;
  while (n < count && record[RACE_KEY] != key) record += RACE_WORDS, ++n;
  if (n == count) {
    if (count >= RACE_CAPACITY) return;
    ctx[RACE_COUNT] = count + 1;
    record[RACE_KEY] = key;
    record[RACE_ORDER] = ~(uint64_t)0;
  }
  record[RACE_HITS] += 1;
  record[RACE_SAME] += same;
  if (order >= record[RACE_ORDER]) return;
  record[RACE_ORDER] = order;
  record[RACE_GROUP] = group;
  record[RACE_LOCAL] = local;
  record[RACE_BEFORE] = before;
  record[RACE_MINE] = mine;
  store_values(&record[RACE_VALUES], VALUES);
}

/* Returns whether an access conflicts with `word`, a word of its cell. */
static inline int is_conflict(const uint64_t *ctx, uint64_t word, uint64_t mine, uint64_t limit, uint64_t since) {
  return word >= limit && !is_own(word, mine) && is_race(ctx, word, mine, since);
}

/* Returns the atomic, of those that a cell keeps besides the last write, that an access conflicts with; 0 if there is none. */
static inline uint64_t conflicting_atomic(const uint64_t *ctx, char *cell, uint64_t mine, uint64_t limit, uint64_t since) {
  const uint64_t other = *word_of(cell, OTHER_ATOMIC), earlier = *word_of(cell, EARLIER_ATOMIC);
  if (is_conflict(ctx, other, mine, limit, since)) return other;
  return is_conflict(ctx, earlier, mine, limit, since) ? earlier : 0;
}

/* Keeps the last atomic of a cell, which another one is about to replace, unless both are of one work-item. */
static inline void keep_atomic(const uint64_t *ctx, char *cell, uint64_t written, uint64_t mine) {
  if (written < ctx[GROUP_EPOCH]) {
    *word_of(cell, EARLIER_ATOMIC) = written;
  } else if (local_id(written) != local_id(mine)) {
    *word_of(cell, OTHER_ATOMIC) = written;
  }
}

/* Checks and records a read of `count` cells of `stride` bytes. */
COLD void shadow_read(uint64_t *ctx, char *cells, uint64_t count, uint64_t stride, uint64_t mine, uint64_t limit, uint64_t since,
                      uint64_t group, VALUE_PARAMETERS) {
  for (uint64_t i = 0; i < count; ++i) {
    char *cell = cells + i * stride;
    const uint64_t written = *word_of(cell, WRITTEN), reader = *word_of(cell, READER);
    uint64_t before = is_conflict(ctx, written, mine, limit, since) ? written : 0;
    if (!before && stride > CELL_BYTES) before = conflicting_atomic(ctx, cell, mine, limit, since);
    if (before) shadow_record(ctx, READ_AFTER_WRITE, mine, before, 0, group, VALUES);
    if (written >= limit) *word_of(cell, WRITTEN) = written | READ;
    if (is_own(reader, mine)) continue;
    if (reader >= since) {
      if (*word_of(cell, SECOND) < since && local_id(reader) != local_id(mine)) *word_of(cell, SECOND) = mine;
      continue;
    }
    if (reader >= limit && reader < ctx[GROUP_EPOCH]) *word_of(cell, EARLIER) = reader;
    *word_of(cell, READER) = mine;
  }
}

/* Checks a write of `count` cells of `stride` bytes, before it is recorded. */
COLD void shadow_write(uint64_t *ctx, char *cells, uint64_t count, uint64_t stride, uint64_t mine, uint64_t limit,
                       uint64_t since, uint64_t group, uint64_t mode, VALUE_PARAMETERS) {
  const uint64_t same = mode & SAME;
  for (uint64_t i = 0; i < count; ++i) {
    char *cell = cells + i * stride;
    const uint64_t written = *word_of(cell, WRITTEN);
    const int is_last_own = written >= limit && is_own(written, mine);
    uint64_t before = is_conflict(ctx, written, mine, limit, since) ? written : 0;
    if (!before && stride > CELL_BYTES) before = conflicting_atomic(ctx, cell, mine, limit, since);
    if (before) shadow_record(ctx, WRITE_AFTER_WRITE, mine, before, same, group, VALUES);
    if (is_last_own && !(written & READ) && !mode && !(mine & ATOMIC)) {
      shadow_record(ctx, OVERWRITTEN, mine, written, 0, group, VALUES);
    }
    if (stride < CELL_BYTES) continue;
    for (uint64_t offset = READER; offset <= EARLIER; offset += SECOND - READER) {
      const uint64_t reader = *word_of(cell, offset);
      if (is_conflict(ctx, reader, mine, limit, since)) {
        shadow_record(ctx, WRITE_AFTER_READ, mine, reader, same, group, VALUES);
      }
    }
    const int replaces_atomic = written >= limit && written & mine & ATOMIC;
    if (replaces_atomic && stride > CELL_BYTES) keep_atomic(ctx, cell, written, mine);
  }
}

/* Records a write of `count` cells of `stride` bytes. */
INLINE void shadow_fill(char *cells, uint64_t count, uint64_t stride, uint64_t mine) {
  for (uint64_t i = 0; i < count; ++i) *word_of(cells + i * stride, WRITTEN) = mine;
}
