/* What a worker does in a launch: it takes groups until none is left. It is the same for all kernels, and compiled once. */
#include "runtime.h"

/* Of a kernel: what runs the groups of steps `turn` to `end` and returns whether the launch goes on, and what begins and ends a
 * worker, if anything does. `mem` is the worker's memory. */
typedef int run_steps(uint64_t *ctx, void *args, char *mem, uint64_t turn, uint64_t end);
typedef void note_worker(uint64_t *ctx, char *mem);

/* Where a worker is: the share from which it takes groups, how many shares it has not seen the end of, and the groups that it
 * has taken, from one turn to another. */
enum { SHARE, UNSEEN, TURN, END, PROGRESS_WORDS };

/* Takes a chunk of groups; 0 if none is left. A worker begins with its own share, which is the same at each launch: what its
 * processor wrote then is in its cache still. After that it helps with the others. */
static int take_chunk(uint64_t *ctx, uint64_t *at) {
  const uint64_t first = ctx[FIRST_GROUP], count = ctx[GROUP_COUNT] - first, shares = ctx[SHARES], chunk = ctx[CHUNK];
  for (; at[UNSEEN]; --at[UNSEEN], at[SHARE] = (at[SHARE] + 1) % shares) {
    const uint64_t begin = first + count * at[SHARE] / shares, end = first + count * (at[SHARE] + 1) / shares;
    at[TURN] = begin + __atomic_fetch_add(&ctx[TAKEN + SHARE_WORDS * at[SHARE]], chunk, __ATOMIC_RELAXED);
    at[END] = least(at[TURN] + chunk, end);
    if (at[TURN] < end) return 1;
  }
  return 0;
}

/* Runs chunks of groups until none is left, or until the launch stops, in the processor's float mode of the launch. The worker's
 * number lies ahead of its memory. */
void work(uint64_t *ctx, void *args, char *mem, run_steps *run, note_worker *begin, note_worker *end) {
  const unsigned long before = float_mode();
  uint64_t at[PROGRESS_WORDS] = {((const uint64_t *)mem)[-1] % ctx[SHARES], ctx[SHARES]};
  set_float_mode(ctx[FLUSHES] ? FLUSH_DENORMALS : KEEP_DENORMALS);
  if (begin) begin(ctx, mem);
  while (take_chunk(ctx, at) && run(ctx, args, mem, at[TURN], at[END])) {
  }
  if (end) end(ctx, mem);
  set_float_mode(before);
}
