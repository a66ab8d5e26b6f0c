/* The server's half of waiting at the ring: `ring.py` says what the function does, `protocol.py` lays the counters out. It is not
 * part of the shim. */
typedef unsigned int u32;
typedef unsigned long u64;

extern long syscall(long number, ...);

enum { SLEEP = 0, WAKE = 1 }; /* of memory that processes share */

static inline u64 *long_at(u64 base, u64 at) { return (u64 *)(base + at); }
static inline u32 *word_at(u64 base, u64 at) { return (u32 *)(base + at); }
static inline u64 head_of(u64 base) { return __atomic_load_n(long_at(base, AT_HEAD), __ATOMIC_ACQUIRE); }

/* Publishes what the server has done, if that is new, and wakes those who sleep if one of them waits for no more than that. One who
 * is about to sleep has read `done` before it said what it waits for, so that it does not sleep if that was taken away. */
static void publish(u64 base, u64 tail, u64 completed) {
  __atomic_store_n(long_at(base, AT_TAIL), tail, __ATOMIC_RELEASE);
  if (*long_at(base, AT_COMPLETED) == completed) return;
  __atomic_store_n(long_at(base, AT_COMPLETED), completed, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(word_at(base, AT_CLIENTS_SLEEP), __ATOMIC_SEQ_CST)) return;
  if (completed < __atomic_load_n(long_at(base, AT_WANTED), __ATOMIC_SEQ_CST)) return;
  __atomic_store_n(long_at(base, AT_WANTED), ~0ul, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(word_at(base, AT_DONE), 1, __ATOMIC_SEQ_CST);
  syscall(FUTEX_SYSCALL, word_at(base, AT_DONE), WAKE, 0x7fffffff, 0, 0, 0);
}

static u64 advance(u64 base, u64 tail, u64 completed, u64 spins, u64 nanoseconds) {
  publish(base, tail, completed);
  u64 head = head_of(base);
  for (u64 n = 0; head == tail && n < spins; ++n) {
    pause_thread();
    head = head_of(base);
  }
  if (head != tail || !nanoseconds) return head;
  const u32 seen = __atomic_load_n(word_at(base, AT_WORK), __ATOMIC_SEQ_CST);
  __atomic_store_n(word_at(base, AT_SERVER_SLEEPS), 1, __ATOMIC_SEQ_CST);
  head = head_of(base);
  if (head == tail) {
    const u64 time[2] = {nanoseconds / 1000000000, nanoseconds % 1000000000}; /* a struct timespec */
    syscall(FUTEX_SYSCALL, word_at(base, AT_WORK), SLEEP, seen, time, 0, 0);
    head = head_of(base);
  }
  __atomic_store_n(word_at(base, AT_SERVER_SLEEPS), 0, __ATOMIC_SEQ_CST);
  return head;
}

/* Ends the sleep of a thread in `advance`. */
static void wake(u64 base) {
  __atomic_fetch_add(word_at(base, AT_WORK), 1, __ATOMIC_SEQ_CST);
  syscall(FUTEX_SYSCALL, word_at(base, AT_WORK), WAKE, 1, 0, 0, 0);
}

void *const functions[] = {advance, wake};
