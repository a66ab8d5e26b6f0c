/* Counters of a launch: what work-items access, and what the work-items of a wave access together. The counter block is laid
 * out by `abi/counting.py`.
 *
 * The work-items of a wave run one after the other. What they do at once on a device is what they do under the same key: at
 * the same place of the kernel, in the same iterations of the loops around it. */
#include "kernel.h"

static INLINE uint64_t mix(uint64_t value) {
  value = (value ^ value >> 32) * 0xd6e8feb86659fd93ull;
  value = (value ^ value >> 32) * 0xd6e8feb86659fd93ull;
  return value ^ value >> 32;
}

static INLINE uint64_t combine_keys(uint64_t key, uint64_t part) { return mix(key + (part + 1) * 0x9e3779b97f4a7c15ull); }

/* Returns the entry of a key, a free one if there is none yet. The caller sees to it that one is free. */
static INLINE uint64_t *find_entry(uint64_t *table, uint64_t size, uint64_t stamp, uint64_t key) {
  uint64_t at = key & (size - 1);
  for (;; at = (at + 1) & (size - 1)) {
    uint64_t *entry = table + at * ENTRY_WORDS;
    if (entry[ENTRY_STAMP] != stamp || entry[ENTRY_KEY] == key) return entry;
  }
}

/* Returns whether an entry was free; it is then the key's. used: the word that counts the entries of its table. */
static INLINE int take_entry(uint64_t *found, uint64_t stamp, uint64_t key, uint64_t *used) {
  if (found[ENTRY_STAMP] == stamp) return 0;
  found[ENTRY_KEY] = key, found[ENTRY_STAMP] = stamp, found[ENTRY_COUNT] = found[ENTRY_EXTRA] = 0;
  *used += 1;
  return 1;
}

/* Makes the table twice as large, in the memory beside it. */
static NOINLINE void grow_table(uint64_t *counts) {
  uint64_t *from = address_in(counts, WAVE_TABLE), *to = address_in(counts, WAVE_OTHER);
  const uint64_t size = counts[WAVE_SIZE], stamp = counts[WAVE_STAMP];
  for (uint64_t *entry = from; entry != from + size * ENTRY_WORDS; entry += ENTRY_WORDS) {
    if (entry[ENTRY_STAMP] != stamp) continue;
    uint64_t *place = find_entry(to, 2 * size, stamp + 1, entry[ENTRY_KEY]);
    for (uint64_t n = 0; n < ENTRY_WORDS; ++n) place[n] = entry[n];
    place[ENTRY_STAMP] = stamp + 1;
  }
  const uint64_t address = counts[WAVE_TABLE];
  counts[WAVE_TABLE] = counts[WAVE_OTHER], counts[WAVE_OTHER] = address;
  counts[WAVE_SIZE] = 2 * size, counts[WAVE_STAMP] = stamp + 1;
}

/* Returns whether the table has room for some more entries, after making it larger if need be. */
static INLINE int has_room(uint64_t *counts, uint64_t some) {
  while (counts[WAVE_USED] + some > counts[WAVE_SIZE] / 4 * 3) {
    if (counts[WAVE_SIZE] == WAVE_ENTRIES) return 0;
    grow_table(counts);
  }
  return 1;
}

/* Chooses the turn that is traced after `turn` - 1: as many as the budget is likely to allow are spread evenly. */
static INLINE uint64_t choose_next(const uint64_t *counts, uint64_t turn) {
  const uint64_t traced = counts[TRACED_GROUPS], spent = counts[TRACE_SPENT], rest = counts[TRACE_OF] - turn;
  const uint64_t left = spent < TRACE_BUDGET ? (TRACE_BUDGET - spent) / (spent / traced + 1) : 0;
  const uint64_t some = left < counts[TRACE_MOST] - traced ? left : counts[TRACE_MOST] - traced;
  return some ? turn - 1 + (rest + some - 1) / some : ~(uint64_t)0;
}

/* Begins a group. */
static INLINE void begin_counted_group(uint64_t *counts, uint64_t group) {
  const uint64_t turn = counts[COUNTED_GROUPS]++;
  if (counts[TRACE_ON]) counts[NEXT_TRACED] = choose_next(counts, turn);
  counts[RUNNING_GROUP] = group + 1;
  counts[RUNNING_WAVE] = ~(uint64_t)0;
  counts[TRACE_ON] = turn == counts[NEXT_TRACED];
  counts[TRACED_GROUPS] += counts[TRACE_ON];
  counts[LINE_STAMP] += 1;
  counts[LINE_USED] = 0;
}

/* A work-item enters a region. first: the kernel's first one. Returns whether what it does is to be traced. */
NOINLINE uint64_t count_item(uint64_t *counts, uint64_t group, uint64_t lane, uint64_t first) {
  if (counts[RUNNING_GROUP] != group + 1) begin_counted_group(counts, group);
  const uint64_t wave = lane / counts[WAVE_ITEMS];
  counts[COUNTED_ITEMS] += first;
  if (wave != counts[RUNNING_WAVE] || lane <= counts[LAST_LANE]) {
    uint64_t size = LEAST_ENTRIES;
    while (size / 2 < counts[WAVE_USED] && size < WAVE_ENTRIES) size *= 2; /* the next wave is likely to need as much */
    counts[WAVE_SIZE] = size;
    counts[RUNNING_WAVE] = wave;
    counts[WAVE_STAMP] += 1;
    counts[WAVE_NUMBER] += 1;
    counts[WAVE_KEPT] = counts[WAVE_USED] = 0;
    if (first) counts[TRACED_WAVES] += counts[TRACE_ON];
  }
  counts[LAST_LANE] = lane;
  counts[HELD_READS] = 0;
  return counts[TRACE_ON];
}

/* Begins an iteration of a loop; `state` holds, for each loop, the iteration and the key. */
INLINE void count_iteration(uint64_t *state, uint64_t loop, uint64_t around) {
  uint64_t *own = state + 2 * loop;
  own[0] += 1;
  own[1] = combine_keys(combine_keys(state[2 * around + 1], loop), own[0]);
}

/* Returns the entry of an execution of a place by the running wave; null if the table has no room for it, for `some` entries
 * that a work-item brings along, and for `all` that the whole wave may bring along. */
static INLINE uint64_t *trace_place(uint64_t *counts, uint64_t *place, uint64_t key, uint64_t some, uint64_t all) {
  if (!has_room(counts, some + 1)) return 0;
  const uint64_t stamp = counts[WAVE_STAMP];
  uint64_t *found = find_entry(address_in(counts, WAVE_TABLE), counts[WAVE_SIZE], stamp, key);
  if (found[ENTRY_STAMP] != stamp) {
    if (place[PLACE_WAVE] != counts[WAVE_NUMBER]) place[PLACE_WAVE] = counts[WAVE_NUMBER], place[PLACE_KEPT] = 0;
    const uint64_t kept = counts[WAVE_KEPT] + all + 1, own = place[PLACE_KEPT] + all + 1, most = counts[WAVE_MOST];
    if (kept > most || (kept > most / 2 && own > counts[PLACE_MOST])) return 0;
    counts[WAVE_KEPT] = kept;
    place[PLACE_KEPT] = own;
    place[PLACE_WAVES] += 1;
    take_entry(found, stamp, key, &counts[WAVE_USED]);
  }
  place[PLACE_TRACED] += 1;
  counts[TRACE_SPENT] += 1;
  return found;
}

/* Counts the lines that one more access of a wave adds. `whole`: count is its lines, extra its bytes. */
static INLINE void trace_lines(
    uint64_t *counts, uint64_t *place, uint64_t *whole, uint64_t key, uint64_t address, uint64_t nbytes) {
  const uint64_t shift = counts[LINE_SHIFT], stamp = counts[WAVE_STAMP];
  const uint64_t unit = shift > 6 ? shift - 6 : 0; /* binary logarithm of the bytes for which a line has a bit */
  const uint64_t before = (whole[ENTRY_EXTRA] + (1ull << (shift - unit)) - 1) >> (shift - unit);
  for (uint64_t at = address >> unit, end = (address + nbytes - 1) >> unit; at <= end;) {
    const uint64_t line = at >> (shift - unit), last = ((line + 1) << (shift - unit)) - 1;
    const uint64_t until = last < end ? last : end, low = at & ((1ull << (shift - unit)) - 1);
    const uint64_t touched = ~0ull >> (63 - (until - at)) << low, own = combine_keys(key, line);
    uint64_t *found = find_entry(address_in(counts, WAVE_TABLE), counts[WAVE_SIZE], stamp, own);
    if (take_entry(found, stamp, own, &counts[WAVE_USED])) whole[ENTRY_COUNT] += 1, place[PLACE_LINES] += 1;
    whole[ENTRY_EXTRA] += __builtin_popcountll(touched & ~found[ENTRY_COUNT]);
    found[ENTRY_COUNT] |= touched;
    at = until + 1;
  }
  place[PLACE_LEAST] += ((whole[ENTRY_EXTRA] + (1ull << (shift - unit)) - 1) >> (shift - unit)) - before;
}

/* Counts the passes of local memory that one more access of a wave adds. `whole`: count is its passes, extra its words. */
static INLINE void trace_banks(
    uint64_t *counts, uint64_t *place, uint64_t *whole, uint64_t key, uint64_t address, uint64_t nbytes) {
  uint64_t *table = address_in(counts, WAVE_TABLE);
  const uint64_t stamp = counts[WAVE_STAMP], size = counts[WAVE_SIZE];
  for (uint64_t word = address / BANK_BYTES; word <= (address + nbytes - 1) / BANK_BYTES; ++word) {
    const uint64_t bank = word % BANKS, row_key = combine_keys(key, word / BANKS);
    uint64_t *row = find_entry(table, size, stamp, row_key);
    take_entry(row, stamp, row_key, &counts[WAVE_USED]);
    if (row[ENTRY_COUNT] >> bank & 1) continue;
    row[ENTRY_COUNT] |= 1ull << bank;
    const uint64_t bank_key = combine_keys(key, ~bank);
    uint64_t *served = find_entry(table, size, stamp, bank_key);
    take_entry(served, stamp, bank_key, &counts[WAVE_USED]);
    if (++served[ENTRY_COUNT] > whole[ENTRY_COUNT]) whole[ENTRY_COUNT] += 1, place[PLACE_LINES] += 1;
    if (whole[ENTRY_EXTRA]++ % BANKS == 0) place[PLACE_LEAST] += 1;
  }
}

/* Counts the lines of an argument that the running wave reads for the first time: of an access, the one that it begins in. */
static INLINE void trace_visit(uint64_t *counts, uint64_t *span, uint64_t address) {
  if (counts[LINE_USED] >= LINE_ENTRIES / 8 * 7) return;
  const uint64_t stamp = counts[LINE_STAMP];
  const uint64_t key = combine_keys(combine_keys(counts[RUNNING_WAVE], (uint64_t)span), address >> counts[LINE_SHIFT]);
  uint64_t *found = find_entry(address_in(counts, LINE_TABLE), LINE_ENTRIES, stamp, key);
  span[SPAN_VISITS] += 1;
  if (take_entry(found, stamp, key, &counts[LINE_USED])) span[SPAN_LINES] += 1;
}

/* Marks at most 64 bytes of an argument that were touched, a bit of `mask` each. Behind the bits of all bytes is a spare word. */
INLINE void mark_few_bytes(uint64_t *bits, uint64_t offset, uint64_t mask) {
  uint64_t *word = bits + offset / 64;
  word[0] |= mask << offset % 64;
  word[1] |= mask >> 1 >> (63 - offset % 64);
}

/* The same of bytes that lie in one word. */
INLINE void mark_aligned_bytes(uint64_t *bits, uint64_t offset, uint64_t mask) { bits[offset / 64] |= mask << offset % 64; }

/* Marks the bytes of an argument that were touched. */
NOINLINE void mark_bytes(uint64_t *bits, uint64_t offset, uint64_t nbytes) {
  for (uint64_t end = offset + nbytes; offset < end;) {
    const uint64_t low = offset % 64, room = 64 - low, some = end - offset < room ? end - offset : room;
    bits[offset / 64] |= ~0ull >> (64 - some) << low;
    offset += some;
  }
}

/* Returns whether the work-item reads what it has in a register; else it has it from now on. What it writes, it reads again. */
static INLINE int is_held(uint64_t *counts, uint64_t address, uint64_t nbytes, uint64_t how) {
  if (!counts[HELD]) return 0;
  uint64_t *held = address_in(counts, HELD);
  const uint64_t reads = counts[HELD_READS], some = reads < HELD_MOST ? reads : HELD_MOST;
  for (uint64_t n = 0; n < some; ++n) {
    uint64_t *entry = held + 2 * n;
    if (!(how & HOW_WRITES) && entry[0] == address && entry[1] == nbytes) return 1;
    if (how & HOW_WRITES && entry[0] < address + nbytes && address < entry[0] + entry[1]) entry[1] = 0;
  }
  if (how & HOW_WRITES) return 0;
  held[reads % HELD_MOST * 2] = address;
  held[reads % HELD_MOST * 2 + 1] = nbytes;
  counts[HELD_READS] = reads + 1;
  return 0;
}

/* Traces an access to `nbytes` bytes by a work-item of a traced group. key: of the loops around it. */
NOINLINE void trace_access(uint64_t *counts, uint64_t *place, uint64_t key, uint64_t address, uint64_t nbytes, uint64_t how) {
  if (!nbytes || nbytes > TRACED_BYTES || !(how & (HOW_LINES | HOW_BANKS))) return;
  if (is_held(counts, address, nbytes, how)) {
    place[PLACE_HELD] += 1;
    return;
  }
  const uint64_t own = combine_keys(key, (uint64_t)place);
  uint64_t *whole = trace_place(counts, place, own, BANKS + 4 + nbytes / BANK_BYTES, 2 * counts[WAVE_ITEMS] + BANKS);
  if (!whole) return;
  if (how & HOW_BANKS) {
    trace_banks(counts, place, whole, own, address, nbytes);
  } else {
    trace_lines(counts, place, whole, own, address, nbytes);
  }
  if (how & HOW_READS && (how & HOW_SPAN) != NO_SPAN) {
    trace_visit(counts, (uint64_t *)address_in(counts, SPANS) + (how & HOW_SPAN) * SPAN_WORDS, address);
  }
}

static INLINE void count_place(uint64_t *counts, uint64_t *place, uint64_t key, uint64_t address, uint64_t nbytes, uint64_t how) {
  place[PLACE_RUNS] += 1;
  place[PLACE_BYTES] += nbytes;
  if (counts[TRACE_ON]) trace_access(counts, place, key, address, nbytes, how);
}

/* Counts an access through a pointer whose object only the run knows. places: a record for each argument, one for local memory
 * and one for all else. */
NOINLINE void count_access_somewhere(
    uint64_t *counts, uint64_t *places, uint64_t key, uint64_t address, uint64_t nbytes, uint64_t how, uint64_t local) {
  const uint64_t *span = address_in(counts, SPANS);
  const uint64_t spans = counts[SPAN_COUNT];
  for (uint64_t n = 0; n < spans; ++n, span += SPAN_WORDS) {
    if (address - span[SPAN_BASE] < span[SPAN_BYTES]) {
      const uint64_t offset = address - span[SPAN_BASE];
      if (how & HOW_READS) mark_bytes(address_in(span, SPAN_READ), offset, nbytes);
      if (how & HOW_WRITES) mark_bytes(address_in(span, SPAN_WRITTEN), offset, nbytes);
      count_place(counts, places + n * PLACE_WORDS, key, address, nbytes, how | HOW_LINES | n);
      return;
    }
  }
  const int is_local = address - local < kernel_shape.local_bytes;
  uint64_t *place = places + (spans + !is_local) * PLACE_WORDS;
  count_place(counts, place, key, address, nbytes, how | NO_SPAN | (is_local ? HOW_BANKS : 0));
}

/* Traces a branch of a work-item of a traced group. `whole`: count is 1 + the way of the first, extra whether another took
 * another. */
NOINLINE void trace_branch(uint64_t *counts, uint64_t *place, uint64_t key, uint64_t way) {
  uint64_t *whole = trace_place(counts, place, combine_keys(key, (uint64_t)place), 0, 0);
  if (!whole) return;
  if (!whole[ENTRY_COUNT]) whole[ENTRY_COUNT] = way + 1;
  if (whole[ENTRY_COUNT] != way + 1 && !whole[ENTRY_EXTRA]) whole[ENTRY_EXTRA] = 1, place[PLACE_LINES] += 1;
}
