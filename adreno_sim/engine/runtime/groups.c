/* The code around the regions: a worker takes groups until none is left, and a group runs region after region. */
#include "kernel.h"

static inline int is_stopped(const uint64_t *ctx) { return __builtin_expect(load_relaxed(&ctx[STOP]) != 0, 0); }

static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

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
        diverged(ctx, gl, begin, reached, agreed);
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

/* Where a worker is: the share from which it takes groups, how many shares it has not seen the end of, and the groups that it
 * has taken, from one turn to another. */
enum { SHARE, UNSEEN, TURN, END, PROGRESS_WORDS };

/* Takes a chunk of groups; 0 if none is left. A worker begins with its own share, which is the same at each launch: what its
 * processor wrote then is in its cache still. After that it helps with the others. */
static NOINLINE int take_chunk(uint64_t *ctx, uint64_t *at) {
  const uint64_t first = ctx[FIRST_GROUP], count = ctx[GROUP_COUNT] - first, shares = ctx[SHARES], chunk = ctx[CHUNK];
  for (; at[UNSEEN]; --at[UNSEEN], at[SHARE] = (at[SHARE] + 1) % shares) {
    const uint64_t begin = first + count * at[SHARE] / shares, end = first + count * (at[SHARE] + 1) / shares;
    at[TURN] = begin + __atomic_fetch_add(&ctx[TAKEN + SHARE_WORDS * at[SHARE]], chunk, __ATOMIC_RELAXED);
    at[END] = least(at[TURN] + chunk, end);
    if (at[TURN] < end) return 1;
  }
  return 0;
}

/* Runs chunks of groups until none is left, or until the launch stops. It is one loop, not one in another: LLVM takes a
 * twentieth less time for a kernel in it. The worker's number lies ahead of its memory. */
static INLINE void take_groups(uint64_t *ctx, void *restrict args, char *restrict mem, char *restrict arena) {
  uint64_t at[PROGRESS_WORDS] = {((const uint64_t *)mem)[-1] % ctx[SHARES], ctx[SHARES]};
  for (uint64_t turn = 0, end = 0;; ++turn) {
    if (turn == end) {
      if (!take_chunk(ctx, at)) return;
      turn = at[TURN], end = at[END];
    }
    if (is_stopped(ctx)) {
      store_relaxed(&ctx[LEFT_OUT], 1);
      return;
    }
    run_group(ctx, args, mem, arena, turn);
  }
}

/* Runs the groups of one worker. It is never inlined: no float operation may move across the mode switch of `worker`. */
NOINLINE void groups(uint64_t *ctx, void *restrict args, char *restrict mem) {
  char *arena = mem + kernel_shape.local_bytes;
  begin_worker(ctx, arena);
  take_groups(ctx, args, mem, arena);
  end_worker(ctx, arena);
}

/* What a launch calls: sets the processor's float mode, runs groups, and restores the mode. */
NOINLINE void worker(uint64_t *ctx, void *args, void *mem) {
  const unsigned long before = float_mode();
  set_float_mode(ctx[FLUSHES] ? FLUSH_DENORMALS : KEEP_DENORMALS);
  groups(ctx, args, mem);
  set_float_mode(before);
}
