/* The logical clock of level full: an epoch starts whenever work-items enter a region. A fence sets the epoch from which
 * accesses of the group count as unordered. */
#include "kernel.h"

/* Starts the next epoch. */
INLINE void shadow_tick(uint64_t *ctx) { ctx[EPOCH] += EPOCH_STEP; }

/* Starts the group of step `turn`. */
INLINE void shadow_group(uint64_t *ctx, uint64_t turn) {
  shadow_tick(ctx);
  const uint64_t now = ctx[EPOCH];
  ctx[GROUP_EPOCH] = ctx[SINCE_LOCAL] = ctx[SINCE_GLOBAL] = ctx[SINCE_IMAGES] = now;
  ((uint64_t *)address_in(ctx, GROUP_EPOCHS))[turn] = now;
}

/* Returns what a synchronisation point orders; by its flags, if only the run knows them: what all work-items gave. */
static inline uint64_t fences_of(uint64_t *ctx, uint64_t reached) {
  const uint64_t known = sync_points[reached];
  if (!(known & FENCES_BY_FLAGS)) return known;
  const uint64_t flags = ~ctx[MISSING_FLAGS];
  ctx[MISSING_FLAGS] = 0;
  return (flags & LOCAL_FLAG ? FENCES_LOCAL : 0) | (flags & GLOBAL_FLAG ? FENCES_GLOBAL : 0) |
         (flags & IMAGE_FLAG ? FENCES_IMAGES : 0);
}

/* Records that all work-items of a group met at a synchronisation point: accesses from the next epoch on are after it. */
INLINE void shadow_met(uint64_t *ctx, uint64_t reached) {
  const uint64_t next = ctx[EPOCH] + EPOCH_STEP, fences = fences_of(ctx, reached);
  if (fences & FENCES_LOCAL) ctx[SINCE_LOCAL] = next;
  if (fences & FENCES_GLOBAL) ctx[SINCE_GLOBAL] = next;
  if (fences & FENCES_IMAGES) ctx[SINCE_IMAGES] = next;
}
