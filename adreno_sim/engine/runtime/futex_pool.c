/* Work for threads that wait at mailboxes. `run/futex_pool.py` says what the functions do, and `abi/mailbox.py` lays a mailbox
 * out. */
#include "runtime.h"

enum { PUBLISHED = 1, RUNNING = 2, AWAITED = 4 }; /* bits of a state; AWAITED: whoever offered it sleeps until it is 0 */
enum { SLEEP = 128, WAKE = 129 }; /* FUTEX_WAIT and FUTEX_WAKE, of this process alone */

typedef void code(void *context, void *arguments, void *memory);

extern int64_t syscall(int64_t number, uint32_t *word, uint64_t operation, uint64_t value, const uint64_t *time);

static inline uint64_t *mailbox(uint64_t *mailboxes, uint64_t number) { return mailboxes + number * MAILBOX_WORDS; }

static inline uint32_t *state_of(uint64_t *box) { return (uint32_t *)box; }

static inline uint32_t load_state(uint64_t *box) { return __atomic_load_n(state_of(box), __ATOMIC_ACQUIRE); }

static inline int change_state(uint64_t *box, uint32_t before, uint32_t after) {
  return __atomic_compare_exchange_n(state_of(box), &before, after, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline void wake(uint64_t *box) { syscall(FUTEX_SYSCALL, state_of(box), WAKE, 1, 0); }

static void make_call(uint64_t *box) {
  code *function = (code *)address_in(box, CALL);
  function(address_in(box, CALL + 1), address_in(box, CALL + 2), address_in(box, CALL + 3));
}

void serve(uint64_t *box) {
  for (uint64_t looks = 0;;) {
    const uint32_t state = __atomic_load_n(state_of(box), __ATOMIC_RELAXED);
    if (state & PUBLISHED) {
      looks = 0;
      if (!change_state(box, state, state ^ (PUBLISHED | RUNNING))) continue;
      make_call(box);
      if (__atomic_exchange_n(state_of(box), 0, __ATOMIC_ACQ_REL) & AWAITED) wake(box);
    } else if (looks < SPINS) {
      looks += 1;
      pause_thread();
    } else {
      syscall(FUTEX_SYSCALL, state_of(box), SLEEP, 0, 0);
      looks = 0;
    }
  }
}

void publish(uint64_t *mailboxes, uint64_t count) {
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t *box = mailbox(mailboxes, n);
    __atomic_store_n(state_of(box), PUBLISHED, __ATOMIC_RELEASE);
    wake(box);
  }
}

/* Looks for a while whether a mailbox becomes idle. */
static int watch(uint64_t *box, uint64_t looks) {
  for (uint64_t n = 0; load_state(box); ++n) {
    if (n >= looks) return 0;
    pause_thread();
  }
  return 1;
}

/* Sleeps once, for `time` at most, unless a mailbox in use was seen to change; returns whether it is idle. */
static int sleep_once(uint64_t *box, const uint64_t *time) {
  const uint32_t state = load_state(box);
  if (!state) return 1;
  if (change_state(box, state, state | AWAITED)) {
    syscall(FUTEX_SYSCALL, state_of(box), SLEEP, state | AWAITED, time);
  }
  return !load_state(box);
}

/* Takes a published call back; 0 if a thread has started it. */
static int withdraw(uint64_t *box) {
  uint32_t state;
  while ((state = load_state(box)) & PUBLISHED) {
    if (change_state(box, state, 0)) return 1;
  }
  return 0;
}

uint64_t join(uint64_t *mailboxes, uint64_t count) {
  uint64_t taken = 0;
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t *box = mailbox(mailboxes, n);
    if (withdraw(box)) {
      make_call(box);
      continue;
    }
    taken += 1;
    if (watch(box, SPINS)) continue;
    while (!sleep_once(box, 0)) {
    }
  }
  return taken;
}

uint64_t run_and_join(
    uint64_t *mailboxes, uint64_t count, code *function, void *context, void *arguments, void *memory) {
  publish(mailboxes, count);
  function(context, arguments, memory);
  return join(mailboxes, count);
}

uint64_t wait_idle(uint64_t *box, uint64_t nanoseconds, uint64_t spins) {
  if (watch(box, spins)) return 1;
  const uint64_t time[2] = {nanoseconds / 1000000000, nanoseconds % 1000000000}; /* a struct timespec */
  return sleep_once(box, time);
}
