/* A kernel of two regions, as emitters would make it, for the drivers here: what `kernel.h` says that a module defines. */
#include "driver.h"

const struct kernel_shape kernel_shape = {
    .items = ITEMS, .local_size_x = ITEMS, .local_size_y = 1, .local_size_z = 1,
    .wave = WAVE, .subgroup_states = 256, .local_bytes = LOCAL_BYTES,
    .counts_epochs = FULL, .counters = 1, .first_divergence_site = 0, .first_watchdog_site = 4,
};
const uint8_t sync_points[] = {0, OF_SUBGROUP | FENCES_LOCAL | FENCES_GLOBAL | FENCES_IMAGES, FENCES_LOCAL};
const uint64_t event_counters[][2] = {{COUNTED_SITE, 0}};
const float srgb_edges[255];

int64_t group(uint64_t *ctx, void *restrict args, char *restrict mem, char *restrict arena, uint64_t gx, uint64_t gy,
              uint64_t gz, uint64_t gl, uint64_t first, uint64_t last) {
  struct arguments *arguments = args;
  for (uint64_t n = 0; n < LOCAL_BYTES; ++n) {
    if (mem[n] != -1) arguments->faults[gl] = 1;
    mem[n] = (char)gl;
  }
  *(uint64_t *)arena += 2; /* the worker's counter */
  return run_by_subgroup(ctx, args, mem, arena, gx, gy, gz, gl, first, last);
}

int64_t run_region(uint64_t region, uint64_t *ctx, void *restrict args, char *restrict mem, char *restrict arena, uint64_t gx,
                   uint64_t gy, uint64_t gz, uint64_t gl, uint64_t first, uint64_t last) {
  struct arguments *arguments = args;
  (void)mem, (void)arena, (void)gy, (void)gz;
  for (uint64_t item = first; item < last; ++item) {
    arguments->runs[gl] += 1;
    /* Groups come backwards: each is a new first one. */
    report(ctx, SITE, GROUPS - 1 - gl, item, gx, item, region, 0, 0, 0);
  }
  if (arguments->diverges && region == 1 && first) return 0;
  return region == 2 ? 0 : region + 1;
}

static void begin_worker(uint64_t *ctx, char *mem) {
  memset(mem + LOCAL_BYTES + 512, 7, 64);
  clear_counters(mem + LOCAL_BYTES);
}

static void end_worker(uint64_t *ctx, char *mem) { add_counters(ctx, mem + LOCAL_BYTES); }

void worker(uint64_t *ctx, void *args, void *mem) { work(ctx, args, mem, run_groups, begin_worker, end_worker); }

uint64_t begin_group(uint64_t *ctx, char *arena, uint64_t turn) {
  EXPECT(arena[512] == 7 && arena[575] == 7);
  memset(arena + 576, 0, 64);
  if (FULL) shadow_group(ctx, turn);
  return FULL ? scheduled_group(ctx, turn) : turn;
}

uint64_t items_of_group(uint64_t *ctx, uint64_t gx, uint64_t gy, uint64_t gz) { return count_items(ctx, gx, gy, gz); }

void combine(uint64_t reached, char *arena, uint64_t first, uint64_t last) {}
