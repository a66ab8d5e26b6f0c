/* The logical clock of level full: an epoch starts whenever work-items enter a region. A fence sets the epoch from which
 * accesses of the group count as unordered. */
#include "kernel.h"

/* Starts the next epoch. */
INLINE void shadow_tick(uint64_t *ctx) { ctx[EPOCH] += EPOCH_STEP; }

/* Starts the group of step `turn`. */
INLINE void shadow_group(uint64_t *ctx, uint64_t turn) {
  shadow_tick(ctx);
  const uint64_t now = ctx[EPOCH];
  ctx[GROUP_EPOCH] = ctx[SINCE_LOCAL] = ctx[SINCE_GLOBAL] = now;
  ((uint64_t *)address_in(ctx, GROUP_EPOCHS))[turn] = now;
}

/* Records that all work-items of a group met at a synchronisation point: accesses from the next epoch on are after it. */
INLINE void shadow_met(uint64_t *ctx, uint64_t reached) {
  const uint64_t next = ctx[EPOCH] + EPOCH_STEP;
  if (sync_points[reached] & FENCES_LOCAL) ctx[SINCE_LOCAL] = next;
  if (sync_points[reached] & FENCES_GLOBAL) ctx[SINCE_GLOBAL] = next;
}
