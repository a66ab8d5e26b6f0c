/* What code under the debugger calls: it counts statements, records stores, and calls the debugger where that must be asked. */
#include "runtime.h"

typedef int64_t (*debugger)(uint64_t reason);

/* Asks the debugger, which returns when the launch goes on, or is to end: then the next statement of any work-item ends it. */
static COLD int64_t debug_ask(uint64_t *debug, uint64_t reason) {
  if (!debug[DEBUG_END]) debug[DEBUG_END] = ((debugger)address_in(debug, DEBUG_CALLBACK))(reason) != 0;
  if (debug[DEBUG_END]) debug[DEBUG_AT] = debug[DEBUG_COUNT] + 1;
  return (int64_t)debug[DEBUG_END];
}

static inline uint64_t watched_address(const uint64_t *debug) {
  return debug[DEBUG_WATCH_LOW] + (debug[DEBUG_WATCH_LOCAL] ? debug[DEBUG_MEMORY] : 0);
}

/* Records what the last store to the watched bytes left there, once it has happened. */
NOINLINE void debug_finish_store(uint64_t *debug) {
  uint64_t *record = (uint64_t *)address_in(debug, DEBUG_STORES) +
                     (debug[DEBUG_UNFINISHED] - 1) % debug[DEBUG_STORE_MOST] * STORE_WORDS;
  const volatile uint8_t *low = (const volatile uint8_t *)watched_address(debug);
  const uint64_t size = least(debug[DEBUG_WATCH_HIGH] - debug[DEBUG_WATCH_LOW], STORE_VALUE_BYTES);
  uint8_t *to = (uint8_t *)(record + STORE_VALUE);
  for (uint64_t i = 0; i < size; ++i) to[i] = low[i];
  debug[DEBUG_UNFINISHED] = 0;
}

/* Notes which work-item runs from here on. */
NOINLINE void debug_item(uint64_t *debug, char *memory, char *arena, uint64_t group, uint64_t lane) {
  if (debug[DEBUG_UNFINISHED]) debug_finish_store(debug);
  debug[DEBUG_MEMORY] = (uint64_t)memory, debug[DEBUG_ARENA] = (uint64_t)arena, debug[DEBUG_LANE] = lane;
  if (debug[DEBUG_GROUP] == group + 1) return;
  debug[DEBUG_GROUP] = group + 1, debug[DEBUG_GROUP_BEGAN] = debug[DEBUG_COUNT], debug[DEBUG_STEPPING] = 0;
  if (debug[DEBUG_CHECKPOINT] == group + 1) debug_ask(debug, ASKED_AT_GROUP);
}

/* Notes that the work-item, which is `at` some point, comes to another. Returns whether the launch is to end. */
NOINLINE int64_t debug_point(uint64_t *debug, uint64_t *at, uint64_t point) {
  const uint64_t before = *at, count = ++debug[DEBUG_COUNT];
  if (debug[DEBUG_UNFINISHED]) debug_finish_store(debug);
  *at = debug[DEBUG_POINT] = point, debug[DEBUG_BEFORE] = before;
  const int asks = count == debug[DEBUG_AT] || ((const uint8_t *)address_in(debug, DEBUG_FLAGS))[point] ||
                   debug[DEBUG_STEPPING] == debug[DEBUG_LANE] + 1 || (debug[DEBUG_BEGINNINGS] && before == NOT_BEGUN) ||
                   load_relaxed(&debug[DEBUG_INTERRUPT]);
  return __builtin_expect(asks, 0) ? debug_ask(debug, ASKED_AT_POINT) : 0;
}

/* Notes that the work-item is at its end. Who steps through it steps on to the next one's first statement. */
NOINLINE void debug_finished(uint64_t *debug, uint64_t *at) {
  if (debug[DEBUG_UNFINISHED]) debug_finish_store(debug);
  *at = FINISHED;
  if (debug[DEBUG_STEPPING] == debug[DEBUG_LANE] + 1) debug[DEBUG_STEPPING] = 0, debug[DEBUG_AT] = debug[DEBUG_COUNT] + 1;
}

/* Notes that `size` bytes are about to be stored at `address`. */
NOINLINE void debug_store(uint64_t *debug, uint64_t address, uint64_t size) {
  if (!debug[DEBUG_WATCH_HIGH]) return;
  const uint64_t low = watched_address(debug), high = low + (debug[DEBUG_WATCH_HIGH] - debug[DEBUG_WATCH_LOW]);
  if (address >= high || address + size <= low) return;
  if (debug[DEBUG_UNFINISHED]) debug_finish_store(debug);
  const uint64_t number = debug[DEBUG_STORE_COUNT]++;
  uint64_t *record = (uint64_t *)address_in(debug, DEBUG_STORES) + number % debug[DEBUG_STORE_MOST] * STORE_WORDS;
  record[STORE_COUNT] = debug[DEBUG_COUNT], record[STORE_GROUP] = debug[DEBUG_GROUP] - 1;
  record[STORE_LANE] = debug[DEBUG_LANE], record[STORE_POINT] = debug[DEBUG_POINT];
  record[STORE_ADDRESS] = address, record[STORE_BYTES] = size;
  debug[DEBUG_UNFINISHED] = number + 1;
}

/* Notes that a diagnostic site has reported. */
COLD void debug_reported(uint64_t *debug, uint64_t site) {
  debug[DEBUG_FINDING] = site + 1;
  if (debug[DEBUG_AT_FINDINGS]) debug_ask(debug, ASKED_AT_FINDING);
}

/* Ends the launch. */
COLD void debug_end(uint64_t *ctx) { store_relaxed(&ctx[STOP], 1); }
