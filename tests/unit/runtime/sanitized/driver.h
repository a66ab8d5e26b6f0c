/* What drivers of the C runtime share. A driver ends with status 0 if all is as expected; a sanitizer ends it otherwise. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

enum { ITEMS = 8, WAVE = 4, GROUPS = 64, LOCAL_BYTES = 40, SITES_KEPT = 8, SITE = 6, COUNTED_SITE = 7, MEMORY = 4096 };

struct arguments {
  int diverges;
  uint64_t runs[GROUPS], faults[GROUPS];
};

int64_t run_by_subgroup(GROUP_PARAMETERS);
void clear_counters(char *arena);
void add_counters(uint64_t *ctx, char *arena);
uint64_t scheduled_group(uint64_t *ctx, uint64_t turn);
uint64_t count_items(uint64_t *ctx, uint64_t gx, uint64_t gy, uint64_t gz);
int run_groups(uint64_t *ctx, void *restrict args, char *restrict mem, uint64_t turn, uint64_t end);
void work(uint64_t *ctx, void *args, char *mem, void *run, void *begin, void *end);
void worker(uint64_t *ctx, void *args, void *mem);

/* Returns a context block with site records, for all groups. */
static inline uint64_t *make_context(void) {
  uint64_t *ctx = calloc(WORDS, 8), *sites = calloc(SITES_KEPT * SITE_WORDS, 8), *epochs = calloc(GROUPS, 8);
  uint64_t *races = calloc(RACE_CAPACITY * RACE_WORDS, 8);
  uint32_t *order = calloc(GROUPS, 4);
  for (int n = 0; n < SITES_KEPT; ++n) sites[n * SITE_WORDS + SITE_ORDER] = ~(uint64_t)0;
  for (int n = 0; n < GROUPS; ++n) order[n] = GROUPS - 1 - n;
  memcpy(&ctx[SITES], &sites, 8);
  memcpy(&ctx[GROUP_ORDER], &order, 8);
  memcpy(&ctx[GROUP_EPOCHS], &epochs, 8);
  memcpy(&ctx[RACES], &races, 8);
  ctx[GROUP_COUNT] = GROUPS, ctx[CHUNK] = 3, ctx[SHARES] = 1, ctx[NUM_GROUPS] = GROUPS, ctx[NUM_GROUPS + 1] = 1;
  ctx[GLOBAL_SIZE] = GROUPS * ITEMS - 3, ctx[GLOBAL_SIZE + 1] = ctx[GLOBAL_SIZE + 2] = 1;
  ctx[FLUSHES] = 0;
  return ctx;
}

/* Returns the memory of a worker, with its number ahead of it. */
static inline char *make_memory(uint64_t number) {
  uint64_t *memory = aligned_alloc(128, 128 + MEMORY);
  memory[15] = number;
  return (char *)(memory + 16);
}

static inline void free_memory(char *memory) { free(memory - 128); }

static inline void free_context(uint64_t *ctx) {
  free(address_in(ctx, SITES)), free(address_in(ctx, GROUP_ORDER)), free(address_in(ctx, GROUP_EPOCHS));
  free(address_in(ctx, RACES)), free(ctx);
}

/* Expects that each group ran both regions for each of its items, and that all is counted. */
static inline void expect_whole(uint64_t *ctx, const struct arguments *arguments) {
  const uint64_t *sites = address_in(ctx, SITES), *site = sites + SITE * SITE_WORDS;
  uint64_t items = 0;
  for (int n = 0; n < GROUPS; ++n) {
    const uint64_t expected = 3 * (n < GROUPS - 1 ? ITEMS : ITEMS - 3);
    EXPECT(arguments->runs[n] == expected && !arguments->faults[n]);
    items += expected;
  }
  EXPECT(site[SITE_COUNT] == items && site[SITE_ORDER] == 0 && site[SITE_GROUP] == 0 && site[SITE_LOCAL] == 0);
  EXPECT(sites[COUNTED_SITE * SITE_WORDS + SITE_COUNT] == 2 * GROUPS && !ctx[LEFT_OUT]);
}
