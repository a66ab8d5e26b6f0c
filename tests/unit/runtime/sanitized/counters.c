/* Counted accesses of waves: bytes that are marked, lines that are touched, and tables that become full. */
#include "driver.h"

uint64_t count_item(uint64_t *counts, uint64_t group, uint64_t lane, uint64_t first);
void count_iteration(uint64_t *state, uint64_t loop, uint64_t around);
void mark_few_bytes(uint64_t *bits, uint64_t offset, uint64_t mask);
void mark_aligned_bytes(uint64_t *bits, uint64_t offset, uint64_t mask);
void mark_bytes(uint64_t *bits, uint64_t offset, uint64_t nbytes);
void trace_access(uint64_t *counts, uint64_t *place, uint64_t key, uint64_t address, uint64_t nbytes, uint64_t how);
void count_access_somewhere(
    uint64_t *counts, uint64_t *places, uint64_t key, uint64_t address, uint64_t nbytes, uint64_t how, uint64_t local);
void trace_branch(uint64_t *counts, uint64_t *place, uint64_t key, uint64_t way);

enum { BYTES = 100000, PLACES = 8, LANES = 16, ROUNDS = 120000 };

static uint64_t seed = 1, held[2 * HELD_MOST];

static uint64_t draw(uint64_t below) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (seed >> 33) % below;
}

static void point(uint64_t *block, uint64_t word, const void *to) { memcpy(&block[word], &to, 8); }

/* Marks bytes in one of the ways that code has for them. */
static void mark(uint64_t *bits, uint64_t at, uint64_t nbytes) {
  if (nbytes == 4 && at % 4 == 0) {
    mark_aligned_bytes(bits, at, 15);
  } else if (nbytes && nbytes <= 64) {
    mark_few_bytes(bits, at, ~0ull >> (64 - nbytes));
  } else {
    mark_bytes(bits, at, nbytes);
  }
}

int main(void) {
  uint64_t *counts = calloc(COUNT_HEAD, 8), *places = calloc(PLACES * PLACE_WORDS, 8), *spans = calloc(SPAN_WORDS, 8);
  uint64_t *waves = calloc(2 * WAVE_ENTRIES * ENTRY_WORDS, 8), *lines = calloc(LINE_ENTRIES * ENTRY_WORDS, 8);
  uint64_t *read = calloc((BYTES + 63) / 64 + 1, 8), *written = calloc((BYTES + 63) / 64 + 1, 8);
  char *data = aligned_alloc(128, (BYTES + 127) / 128 * 128), *marked = calloc(BYTES, 1), *local = aligned_alloc(128, 128);
  point(counts, WAVE_TABLE, waves), point(counts, WAVE_OTHER, waves + WAVE_ENTRIES * ENTRY_WORDS), point(counts, LINE_TABLE, lines), point(counts, SPANS, spans), point(counts, HELD, held);
  point(spans, SPAN_BASE, data), point(spans, SPAN_READ, read), point(spans, SPAN_WRITTEN, written);
  spans[SPAN_BYTES] = BYTES, counts[SPAN_COUNT] = 1, counts[WAVE_ITEMS] = LANES;
  counts[TRACE_MOST] = counts[TRACE_OF] = 3;
  counts[WAVE_SIZE] = LEAST_ENTRIES, counts[WAVE_MOST] = counts[PLACE_MOST] = 1ull << 40;
  uint64_t state[4] = {0, 1};
  for (uint64_t group = 0; group < 3; ++group) {
    counts[TRACE_SPENT] = 0;
    counts[LINE_SHIFT] = 4 + 4 * group; /* lines of 16, 256 and 4096 bytes */
    for (uint64_t lane = 0; lane < LANES; ++lane) {
      EXPECT(count_item(counts, group, lane, 1));
      state[2] = 0;
      for (uint64_t round = 0; round < ROUNDS; ++round) {
        count_iteration(state, 1, 0);
        const uint64_t nbytes = draw(64) ? draw(130) : draw(2 * TRACED_BYTES), at = draw(BYTES - nbytes), key = state[3];
        const uint64_t place = draw(3), address = (uint64_t)data + at, how = HOW_LINES | HOW_READS | (place ? 0 : NO_SPAN);
        trace_access(counts, places + place * PLACE_WORDS, key, address, nbytes, how);
        mark(read, at, nbytes);
        memset(marked + at, 1, nbytes);
        trace_branch(counts, places + 3 * PLACE_WORDS, key, draw(3));
        count_access_somewhere(counts, places + 4 * PLACE_WORDS, key, (uint64_t)local + draw(32), 8, HOW_WRITES, (uint64_t)local);
        count_access_somewhere(counts, places + 4 * PLACE_WORDS, key, (uint64_t)&seed, 8, HOW_WRITES, (uint64_t)local);
      }
    }
  }
  for (uint64_t n = 0; n < BYTES; ++n) EXPECT((read[n / 64] >> n % 64 & 1) == marked[n]);
  for (uint64_t n = 0; n < PLACES; ++n) {
    const uint64_t *place = places + n * PLACE_WORDS;
    EXPECT(place[PLACE_LEAST] <= place[PLACE_LINES] || n == 3);
    EXPECT(place[PLACE_WAVES] <= place[PLACE_TRACED] && place[PLACE_KEPT] >= place[PLACE_WAVES] / 3);
  }
  EXPECT(counts[WAVE_SIZE] == WAVE_ENTRIES && counts[WAVE_USED] <= WAVE_ENTRIES / 4 * 3);
  EXPECT(counts[WAVE_USED] > WAVE_ENTRIES / 4 * 3 - 2048); /* full, and it ended */
  EXPECT(counts[COUNTED_ITEMS] == 3 * LANES && counts[TRACED_GROUPS] == 3 && counts[TRACED_WAVES] == 3);
  EXPECT(places[5 * PLACE_WORDS + PLACE_RUNS] == places[6 * PLACE_WORDS + PLACE_RUNS] && !places[4 * PLACE_WORDS + PLACE_RUNS]);
  free(counts), free(places), free(spans), free(waves), free(lines), free(read), free(written), free(data), free(marked);
  free(local);
  return 0;
}
