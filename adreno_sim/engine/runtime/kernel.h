/* What the module of a kernel defines, and what it may call. `ctx` is the context block of the launch, `abi/context.py`. */
#ifndef ADRENO_SIM_KERNEL_H
#define ADRENO_SIM_KERNEL_H

#include "runtime.h"

extern const struct kernel_shape kernel_shape;

/* What runs a group: argument block, local memory of the worker, its arena, the group's ids and linear id, and the work-items
 * from `first` to `last` that are to run. Emitters write the same list as `PARAMETERS`. */
#define GROUP_PARAMETERS                                                                                             \
  uint64_t *ctx, void *restrict args, char *restrict mem, char *restrict arena, uint64_t gx, uint64_t gy, uint64_t gz, \
      uint64_t gl, uint64_t first, uint64_t last

/* Code of the kernel. It is inlined into its caller, so that clang must not make two calls of one. */
#define KERNEL_CODE extern __attribute__((noduplicate))

/* Runs one group from start to end: 0, or ABANDONED. */
KERNEL_CODE int64_t group(GROUP_PARAMETERS);
/* Runs the work-items of one parallel region: the synchronisation point that they reached, 0 at the end, or ABANDONED. */
KERNEL_CODE int64_t run_region(uint64_t region, GROUP_PARAMETERS);
/* Computes the results of the collective function at a synchronisation point, if there is one. */
KERNEL_CODE void combine(uint64_t reached, char *arena, uint64_t first, uint64_t last);

/* Begins the group of step `turn`, clears its shadows, and returns its linear id. */
KERNEL_CODE uint64_t begin_group(uint64_t *ctx, char *arena, uint64_t turn);
/* Returns the number of work-items of a group. Only ranges of linear ids need it to be exact. */
KERNEL_CODE uint64_t items_of_group(uint64_t *ctx, uint64_t gx, uint64_t gy, uint64_t gz);

/* By number of a synchronisation point: FENCES_LOCAL, FENCES_GLOBAL, FENCES_IMAGES, OF_SUBGROUP, FENCES_BY_FLAGS. */
extern const uint8_t sync_points[];
/* Pairs: site, and arena offset of the worker's counter. There are `kernel_shape.counters`. */
extern const uint64_t event_counters[][2];
/* The least float that is stored as byte 1, 2, ... 255 of an sRGB image. */
extern const float srgb_edges[255];

void report(uint64_t *ctx, uint64_t site, uint64_t group, uint64_t local, VALUE_PARAMETERS);
void diverged(uint64_t *ctx, uint64_t group, uint64_t local, uint64_t here, uint64_t there, uint64_t count, uint64_t parted);
void stopped(uint64_t *ctx, uint64_t group, uint64_t local, uint64_t reached);
void shadow_tick(uint64_t *ctx);
void shadow_group(uint64_t *ctx, uint64_t turn);
void shadow_met(uint64_t *ctx, uint64_t reached);

#endif
