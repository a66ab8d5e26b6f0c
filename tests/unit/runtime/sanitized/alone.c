/* One thread: race cells with random accesses, a launch at level full, reports, watched bytes. */
#include "driver.h"

void shadow_read(uint64_t *, char *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, VALUE_PARAMETERS);
void shadow_write(uint64_t *, char *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, VALUE_PARAMETERS);
void shadow_fill(char *, uint64_t, uint64_t, uint64_t);
void watched(uint64_t *, uint64_t, uint64_t, uint64_t);
void raise_fault(uint64_t *, uint8_t);
uint8_t srgb_encode(float);

static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t bound) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed % bound;
}

static void access_cells(uint64_t stride) {
  enum { CELLS = 16 };
  uint64_t *ctx = make_context();
  char *cells = calloc(CELLS, stride);
  for (int turn = 0; turn < 200000; ++turn) {
    if (!draw(40)) shadow_group(ctx, draw(GROUPS));
    if (!draw(8)) shadow_met(ctx, 1 + draw(2));
    if (!draw(4)) shadow_tick(ctx);
    const uint64_t first = draw(CELLS), count = draw(CELLS - first + 1), local = draw(3);
    const uint64_t mine = ctx[EPOCH] | draw(ITEMS) << LOCAL_ID_SHIFT | (draw(4) ? 0 : ATOMIC) | draw(64);
    const uint64_t limit = local ? ctx[LAUNCH_EPOCH] : ctx[SINCE_LOCAL], since = local ? ctx[SINCE_GLOBAL] : limit;
    char *at = cells + first * stride;
    if (stride >= CELL_BYTES && draw(2)) {
      shadow_read(ctx, at, count, stride, mine, limit, since, draw(GROUPS), 1, 2, 3, 4, 5, 6);
    } else {
      shadow_write(ctx, at, count, stride, mine, limit, since, draw(GROUPS), draw(4), 1, 2, 3, 4, 5, 6);
      shadow_fill(at, count, stride, mine);
    }
  }
  EXPECT(ctx[RACE_COUNT] > 100 && ctx[RACE_COUNT] <= RACE_CAPACITY);
  free(cells), free_context(ctx);
}

static void launch(int diverges) {
  uint64_t *ctx = make_context();
  struct arguments *arguments = calloc(1, sizeof *arguments);
  char *memory = make_memory(diverges);
  arguments->diverges = diverges;
  worker(ctx, arguments, memory);
  if (!diverges) expect_whole(ctx, arguments);
  EXPECT((((uint64_t *)address_in(ctx, SITES))[SITE_COUNT] + ((uint64_t *)address_in(ctx, SITES))[SITE_WORDS] > 0) == diverges);
  free_memory(memory), free(arguments), free_context(ctx);
}

static void watch_bytes(void) {
  uint64_t *ctx = make_context(), *events = calloc(3, EVENT_WORDS * 8);
  uint8_t *bytes = malloc(8);
  memset(bytes, 5, 8);
  memcpy(&ctx[WATCH_EVENTS], &events, 8);
  memcpy(&ctx[WATCH_LOW], &bytes, 8);
  ctx[WATCH_HIGH] = ctx[WATCH_LOW] + 8, ctx[WATCH_CAPACITY] = 3;
  for (int n = 0; n < 5; ++n) watched(ctx, n, 1, 2);
  EXPECT(ctx[WATCH_COUNT] == 5 && events[2 * EVENT_WORDS] == 2 && events[3] == 0x0505050505050505u);
  raise_fault(ctx, 1);
  EXPECT(ctx[FAULT_FLAG] == 1 && ctx[STOP] == 1);
  free(bytes), free(events), free_context(ctx);
}

int main(void) {
  access_cells(ATOMIC_CELL_WORDS * 8);
  access_cells(CELL_BYTES);
  access_cells(UNREAD_CELL_WORDS * 8);
  launch(0);
  launch(1);
  watch_bytes();
  EXPECT(srgb_encode(0.5f) == 255); /* all edges are 0 here */
  return 0;
}
