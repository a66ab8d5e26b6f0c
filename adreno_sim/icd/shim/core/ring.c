/* The ring of commands: written by whoever holds the lock, read by the server. */
#define _GNU_SOURCE
#include "schedule.h"
#include "processor.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS 2000 /* some 50 us, longer than a small launch takes: to be woken takes as long */
#define SLICE_NS 100000000 /* how long a wait goes before it looks whether the server is there */

struct command_head {
    uint32_t bytes;
    uint16_t kind, waits;
    uint64_t number;
    uint32_t call, thread;
    uint64_t queue;
};
_Static_assert(sizeof(struct command_head) == ADRENO_SIZE_COMMAND, "COMMAND is without padding");

struct result {
    uint64_t started, ended;
    int32_t status;
    uint32_t zero;
};
_Static_assert(sizeof(struct result) == ADRENO_SIZE_RESULT, "RESULT");

static _Atomic uint64_t *wide(const struct link *link, size_t place) { return (_Atomic uint64_t *)(link->page + place); }
static _Atomic uint32_t *word(const struct link *link, size_t place) { return (_Atomic uint32_t *)(link->page + place); }

/* The memory is another process's too: no private futex. */
static void sleep_on(_Atomic uint32_t *at, uint32_t seen) {
    struct timespec most = {0, SLICE_NS};
    syscall(SYS_futex, at, FUTEX_WAIT, seen, &most, NULL, 0);
}

static void wake(_Atomic uint32_t *at) { syscall(SYS_futex, at, FUTEX_WAKE, 1 << 30, NULL, NULL, 0); }

uint64_t ring_completed(const struct link *link) {
    return atomic_load_explicit(wide(link, ADRENO_AT_COMPLETED), memory_order_acquire);
}

void ring_result(const struct link *link, uint64_t number, uint64_t *started, uint64_t *ended, cl_int *status) {
    struct result found;
    memcpy(&found, link->page + ADRENO_RESULTS_AT + number % ADRENO_RESULTS * sizeof found, sizeof found);
    *started = found.started;
    *ended = found.ended;
    *status = found.status > 0 ? CL_OUT_OF_RESOURCES : found.status;
}

void ring_open(struct link *link) { atomic_store(wide(link, ADRENO_AT_WANTED), ADRENO_NOTHING_WANTED); }

/* Says that somebody sleeps until command `number` is complete. */
static void want(struct link *link, uint64_t number) {
    uint64_t least = atomic_load(wide(link, ADRENO_AT_WANTED));
    while (number < least && !atomic_compare_exchange_weak(wide(link, ADRENO_AT_WANTED), &least, number)) {}
}

bool ring_wait(struct link *link, uint64_t number) {
    for (unsigned i = 0; i < SPINS; i++) {
        if (ring_completed(link) >= number) return true;
        pause_thread();
    }
    atomic_fetch_add(word(link, ADRENO_AT_CLIENTS_SLEEP), 1);
    uint32_t seen = atomic_load(word(link, ADRENO_AT_DONE));
    want(link, number);
    bool done = atomic_load(wide(link, ADRENO_AT_COMPLETED)) >= number;
    if (!done && !link_lost(link)) {
        sleep_on(word(link, ADRENO_AT_DONE), seen);
        done = ring_completed(link) >= number;
    }
    atomic_fetch_sub(word(link, ADRENO_AT_CLIENTS_SLEEP), 1);
    return done && !link_lost(link);
}

size_t ring_bytes(uint32_t waits, uint32_t body) { return sizeof(struct command_head) + 8ull * waits + ((body + 7ull) & ~7ull); }

/* Bytes that a command takes: the last one before the ring's end takes a rest in which no head would fit. */
static size_t filled(const struct link *link, size_t bytes) {
    size_t to_end = ADRENO_RING_BYTES - link->head % ADRENO_RING_BYTES;
    return to_end >= bytes && to_end - bytes < sizeof(struct command_head) ? to_end : bytes;
}

static bool has_room(const struct link *link, size_t bytes) {
    size_t to_end = ADRENO_RING_BYTES - link->head % ADRENO_RING_BYTES;
    uint64_t used = link->head - atomic_load_explicit(wide(link, ADRENO_AT_TAIL), memory_order_acquire);
    uint64_t needed = to_end < bytes ? to_end + bytes : filled(link, bytes);
    return used + needed <= ADRENO_RING_BYTES && link->pushed - link->pumped < ADRENO_RESULTS - 1;
}

bool ring_reserve(struct link *link, size_t bytes) {
    if (link->pushed - link->pumped > ADRENO_RESULTS / 2) pump(link);
    while (!has_room(link, bytes)) {
        if (link_lost(link) || (!ring_wait(link, link->pumped + 1) && link_ended(link))) return false;
        pump(link);
    }
    return !link_lost(link);
}

uint64_t ring_write(struct link *link, uint16_t kind, const struct event *from, const uint64_t *waits, uint16_t wait_count,
                    const void *body, uint32_t size) {
    size_t bytes = ring_bytes(wait_count, size), to_end = ADRENO_RING_BYTES - link->head % ADRENO_RING_BYTES;
    uint8_t *ring = link->page + ADRENO_RING_AT;
    if (to_end < bytes) {
        struct command_head pad = {.bytes = (uint32_t)to_end, .kind = ADRENO_COMMAND_PAD};
        memcpy(ring + link->head % ADRENO_RING_BYTES, &pad, sizeof pad);
        link->head += to_end;
    }
    bytes = filled(link, bytes);
    uint8_t *at = ring + link->head % ADRENO_RING_BYTES;
    struct command_head head = {.bytes = (uint32_t)bytes, .kind = kind, .waits = wait_count, .number = ++link->pushed};
    head.call = from ? from->call : 0;
    head.thread = from ? from->thread : thread_number();
    head.queue = from && from->queue ? from->queue->number : 0;
    memcpy(at, &head, sizeof head);
    if (wait_count) memcpy(at + sizeof head, waits, 8ull * wait_count);
    if (size) memcpy(at + sizeof head + 8ull * wait_count, body, size);
    link->head += bytes;
    atomic_store_explicit(wide(link, ADRENO_AT_HEAD), link->head, memory_order_release);
    atomic_fetch_add(word(link, ADRENO_AT_WORK), 1);
    if (atomic_load(word(link, ADRENO_AT_SERVER_SLEEPS))) wake(word(link, ADRENO_AT_WORK));
    return link->pushed;
}

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint32_t thread_number(void) {
    static _Thread_local uint32_t known;
    static _Thread_local pid_t process;
    if (!known || process != getpid()) {
        process = getpid();
        known = (uint32_t)syscall(SYS_gettid);
    }
    return known;
}
