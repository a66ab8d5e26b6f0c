/* Reports: site records, the launch's fault flag, and events of the watched bytes. */
#include "kernel.h"

static uint64_t *site_record(const uint64_t *ctx, uint64_t site) {
  return (uint64_t *)address_in(ctx, SITES) + site * SITE_WORDS;
}

/* Keeps an occurrence if it is the first in work-item order. (group, local) is compared, and not time, so that a report does
 * not depend on how threads are scheduled. */
COLD void keep_first(uint64_t *ctx, uint64_t site, uint64_t group, uint64_t local, VALUE_PARAMETERS) {
  uint64_t *record = site_record(ctx, site);
  const uint64_t order = group * kernel_shape.items + local;
  if (order >= load_relaxed(&record[SITE_ORDER])) return;
  uint64_t unlocked = 0;
  while (!__atomic_compare_exchange_n(&record[SITE_LOCK], &unlocked, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) unlocked = 0;
  if (order < load_relaxed(&record[SITE_ORDER])) {
    store_relaxed(&record[SITE_ORDER], order);
    record[SITE_GROUP] = group;
    record[SITE_LOCAL] = local;
    store_values(&record[SITE_VALUES], VALUES);
  }
  __atomic_store_n(&record[SITE_LOCK], 0, __ATOMIC_RELEASE);
}

/* Counts an occurrence, and keeps the first. */
COLD void report(uint64_t *ctx, uint64_t site, uint64_t group, uint64_t local, VALUE_PARAMETERS) {
  __atomic_fetch_add(&site_record(ctx, site)[SITE_COUNT], 1, __ATOMIC_RELAXED);
  keep_first(ctx, site, group, local, VALUES);
}

/* Reports that work-items of a group reached different synchronisation points; 0 is the end. `parted` work-items, 0 if that is
 * not counted, did not reach `there`; `count` of them reached `here`. */
COLD void diverged(uint64_t *ctx, uint64_t group, uint64_t local, uint64_t here, uint64_t there, uint64_t count, uint64_t parted) {
  const uint64_t reached = here ? here : there;
  report(ctx, kernel_shape.first_divergence_site + reached - 1, group, local, here, there, count, parted, 0, 0);
}

/* Reports that the launch was stopped between two synchronisation points. */
COLD void stopped(uint64_t *ctx, uint64_t group, uint64_t local, uint64_t reached) {
  report(ctx, kernel_shape.first_watchdog_site + reached - 1, group, local, NO_VALUES);
}

/* If a deferred check failed, sets the fault flag of the launch and lets no further group start. */
INLINE void raise_fault(uint64_t *ctx, uint8_t failed) {
  if (__builtin_expect(failed, 0)) {
    store_relaxed(&ctx[FAULT_FLAG], 1);
    store_relaxed(&ctx[STOP], 1);
  }
}

/* Appends a store event with the watched bytes as they are now, at most eight. */
COLD void watched(uint64_t *ctx, uint64_t site, uint64_t group, uint64_t local) {
  const uint64_t number = __atomic_fetch_add(&ctx[WATCH_COUNT], 1, __ATOMIC_RELAXED);
  if (number >= ctx[WATCH_CAPACITY]) return;
  const volatile uint8_t *low = address_in(ctx, WATCH_LOW);
  const uint64_t size = ctx[WATCH_HIGH] - (uint64_t)low;
  uint64_t bits = 0;
  for (uint64_t i = 0; i < size; ++i) bits |= (uint64_t)low[i] << (8 * i & 63);
  uint64_t *event = (uint64_t *)address_in(ctx, WATCH_EVENTS) + number * EVENT_WORDS;
  event[0] = site, event[1] = group, event[2] = local, event[3] = bits;
}
