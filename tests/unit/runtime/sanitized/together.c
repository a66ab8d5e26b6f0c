/* Several threads: the pool that hands over work, and a launch whose groups they share. */
#include "driver.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 400 };

void serve(uint64_t *mailbox);
void publish(uint64_t *mailboxes, uint64_t count);
uint64_t join(uint64_t *mailboxes, uint64_t count);
uint64_t run_and_join(uint64_t *mailboxes, uint64_t count, void *code, void *context, void *arguments, void *memory);
uint64_t wait_idle(uint64_t *mailbox, uint64_t nanoseconds, uint64_t spins);

static uint64_t *mailboxes;

static void *start(void *box) {
  serve(box);
  return 0;
}

/* Plain accesses, which race if a call is not handed over, or its end is not told. */
static void count(void *context, void *arguments, void *memory) {
  *(uint64_t *)context += 1;
  *(uint64_t *)memory = *(uint64_t *)arguments;
}

static void write_call(int number, void *code, void *context, void *arguments, void *memory) {
  void *words[4] = {code, context, arguments, memory};
  memcpy(mailboxes + number * MAILBOX_WORDS + CALL, words, sizeof words);
}

static void pause_for(int round) {
  /* Long enough now and then that the threads fall asleep. */
  if (round % 16 == 0) {
    for (volatile int n = 0; n < 3000000; ++n) {
    }
  }
}

static void count_calls(void) {
  uint64_t counts[THREADS + 1] = {0}, given[THREADS + 1], taken[THREADS + 1];
  for (int round = 1; round <= ROUNDS; ++round) {
    for (int n = 0; n <= THREADS; ++n) given[n] = round * 10 + n;
    for (int n = 0; n < THREADS; ++n) write_call(n, count, &counts[n], &given[n], &taken[n]);
    if (round % 2) {
      run_and_join(mailboxes, THREADS, count, &counts[THREADS], &given[THREADS], &taken[THREADS]);
    } else {
      publish(mailboxes, THREADS);
      count(&counts[THREADS], &given[THREADS], &taken[THREADS]);
      for (int n = 0; n < THREADS; ++n) wait_idle(mailboxes + n * MAILBOX_WORDS, 1000 * (round % 5), round % 3 ? 0 : 100);
      join(mailboxes, THREADS);
    }
    for (int n = 0; n <= THREADS; ++n) EXPECT(counts[n] == (uint64_t)round && taken[n] == given[n]);
    pause_for(round);
  }
}

static void share_groups(void) {
  for (int round = 0; round < 50; ++round) {
    uint64_t *ctx = make_context();
    struct arguments *arguments = calloc(1, sizeof *arguments);
    char *memory[THREADS + 1];
    for (int n = 0; n <= THREADS; ++n) memory[n] = make_memory(n);
    ctx[SHARES] = 1 + round % (THREADS + 2), ctx[CHUNK] = 1 + round % 30;
    for (int n = 0; n < THREADS; ++n) write_call(n, worker, ctx, arguments, memory[n]);
    run_and_join(mailboxes, THREADS, worker, ctx, arguments, memory[THREADS]);
    expect_whole(ctx, arguments);
    for (int n = 0; n <= THREADS; ++n) free_memory(memory[n]);
    free(arguments), free_context(ctx);
  }
}

int main(void) {
  mailboxes = aligned_alloc(64, THREADS * MAILBOX_WORDS * 8);
  memset(mailboxes, 0, THREADS * MAILBOX_WORDS * 8);
  for (int n = 0; n < THREADS; ++n) {
    pthread_t thread;
    EXPECT(!pthread_create(&thread, 0, start, mailboxes + n * MAILBOX_WORDS));
    pthread_detach(thread);
  }
  count_calls();
  share_groups();
  _Exit(0); /* the threads serve for ever */
}
