/* The code around the regions: a worker runs group after group (`work.c`), and a group region after region. */
#include "kernel.h"

static inline int is_stopped(const uint64_t *ctx) { return __builtin_expect(load_relaxed(&ctx[STOP]) != 0, 0); }

/* Without sub-groups: all work-items run a region before any runs the next. */
INLINE int64_t run_in_lockstep(GROUP_PARAMETERS) {
  int64_t reached = 0;
  for (;;) {
    if (kernel_shape.counts_epochs) shadow_tick(ctx);
    reached = run_region(reached, ctx, args, mem, arena, gx, gy, gz, gl, first, last);
    if (reached <= 0) return reached;
    if (kernel_shape.counts_epochs) shadow_met(ctx, reached);
    combine(reached, arena, first, last);
    if (is_stopped(ctx)) {
      stopped(ctx, gl, 0, reached);
      return ABANDONED;
    }
  }
}

/* Runs one sub-group up to a synchronisation point of the whole group: its number, 0 at the end, or ABANDONED. */
static INLINE int64_t run_subgroup(int64_t reached, GROUP_PARAMETERS) {
  for (;;) {
    if (kernel_shape.counts_epochs) shadow_tick(ctx);
    reached = run_region(reached, ctx, args, mem, arena, gx, gy, gz, gl, first, last);
    if (reached <= 0 || !(sync_points[reached] & OF_SUBGROUP)) return reached;
    combine(reached, arena, first, last);
    if (is_stopped(ctx)) {
      stopped(ctx, gl, first, reached);
      return ABANDONED;
    }
  }
}

/* With sub-groups: each runs alone between synchronisation points of the group, at which all must agree. */
INLINE int64_t run_by_subgroup(GROUP_PARAMETERS) {
  const uint64_t wave = kernel_shape.wave;
  int64_t *states = (int64_t *)(arena + kernel_shape.subgroup_states);
  for (uint64_t begin = 0, number = 0; begin < last; begin += wave) states[number++] = 0;
  for (;;) {
    int64_t reached = 0;
    for (uint64_t begin = 0, number = 0; begin < last; begin += wave, ++number) {
      const int64_t agreed = reached;
      reached = run_subgroup(states[number], ctx, args, mem, arena, gx, gy, gz, gl, begin, least(begin + wave, last));
      states[number] = reached;
      if (reached == ABANDONED) return ABANDONED;
      if (number && reached != agreed) {
        diverged(ctx, gl, begin, reached, agreed, 0, 0);
        return ABANDONED;
      }
    }
    if (!reached) return 0;
    if (kernel_shape.counts_epochs) shadow_met(ctx, reached);
    combine(reached, arena, 0, last);
    if (is_stopped(ctx)) {
      stopped(ctx, gl, 0, reached);
      return ABANDONED;
    }
  }
}

static inline uint64_t extent(const uint64_t *ctx, uint64_t axis, uint64_t id, uint64_t local_size) {
  return least(ctx[GLOBAL_SIZE + axis] - id * local_size, local_size);
}

/* Counts the work-items of a group at the end of a grid that groups do not fill. */
INLINE uint64_t count_items(uint64_t *ctx, uint64_t gx, uint64_t gy, uint64_t gz) {
  return extent(ctx, 0, gx, kernel_shape.local_size_x) * extent(ctx, 1, gy, kernel_shape.local_size_y) *
         extent(ctx, 2, gz, kernel_shape.local_size_z);
}

/* Returns the group of step `turn` in the order of the launch. */
INLINE uint64_t scheduled_group(uint64_t *ctx, uint64_t turn) {
  return ((const uint32_t *)address_in(ctx, GROUP_ORDER))[turn];
}

/* Returns a worker's own counter of an event. */
static inline uint64_t *counter(char *arena, uint64_t number) { return (uint64_t *)(arena + event_counters[number][1]); }

INLINE void clear_counters(char *arena) {
  for (uint64_t n = 0; n < kernel_shape.counters; ++n) *counter(arena, n) = 0;
}

/* Adds a worker's counters to those of the launch. */
INLINE void add_counters(uint64_t *ctx, char *arena) {
  uint64_t *records = address_in(ctx, SITES);
  for (uint64_t n = 0; n < kernel_shape.counters; ++n) {
    uint64_t *record = records + event_counters[n][0] * SITE_WORDS;
    __atomic_fetch_add(&record[SITE_COUNT], *counter(arena, n), __ATOMIC_RELAXED);
  }
}

static INLINE void run_group(uint64_t *ctx, void *restrict args, char *restrict mem, char *restrict arena, uint64_t turn) {
  const uint64_t wide = ctx[NUM_GROUPS], high = ctx[NUM_GROUPS + 1];
  if (kernel_shape.local_bytes) __builtin_memset(mem, 0xff, kernel_shape.local_bytes);
  const uint64_t gl = begin_group(ctx, arena, turn);
  const uint64_t gx = gl % wide, gy = gl / wide % high, gz = gl / wide / high;
  group(ctx, args, mem, arena, gx, gy, gz, gl, 0, items_of_group(ctx, gx, gy, gz));
}

/* Runs the groups of steps `turn` to `end`, or until the launch stops. Returns whether it goes on. Code of a kernel is in this
 * function, and in no other: no float operation may move across the mode switch of `work`. */
NOINLINE int run_groups(uint64_t *ctx, void *restrict args, char *restrict mem, uint64_t turn, uint64_t end) {
  for (; turn < end; ++turn) {
    if (is_stopped(ctx)) {
      store_relaxed(&ctx[LEFT_OUT], 1);
      return 0;
    }
    run_group(ctx, args, mem, mem + kernel_shape.local_bytes, turn);
  }
  return 1;
}
