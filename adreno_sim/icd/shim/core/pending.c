/* The host's memory of transfers that do not block: until the host knows that such a command is complete, the device may still read
   that memory, or write it. So it must hold then what it held when the command was enqueued, except for what other commands brought
   there. Digests are compared; memory may be gone by then, so it is read by a system call that only fails. */
#define _GNU_SOURCE
#include "misuse.h"
#include "schedule.h"
#include <sys/uio.h>
#include <unistd.h>

#define MOST_PENDING 4096   /* of a program that never waits: older ones are forgotten */
#define MOST_BYTES (16 << 20) /* of larger memory so much is compared, evenly */
#define PIECE 4096

struct pending {
    struct pending *next;
    struct event *event; /* until it is complete; it does not hold it */
    struct copy copy;
    uint64_t digest, queue;
    uint32_t call;
    bool reads; /* the command reads from the device */
};

uint64_t digest_bytes(uint64_t mixed, const uint8_t *from, size_t bytes) {
    uint64_t word;
    for (; bytes >= sizeof word; from += sizeof word, bytes -= sizeof word) {
        memcpy(&word, from, sizeof word);
        mixed = (mixed ^ word) * 0x2545F4914F6CDD1Du;
        mixed ^= mixed >> 29;
    }
    while (bytes--) mixed = (mixed ^ *from++) * 0x2545F4914F6CDD1Du;
    return mixed;
}

/* Adds bytes that may not be there to a digest. */
static bool digest_safely(uint64_t *mixed, const uint8_t *from, size_t bytes) {
    static uint8_t here[16 * PIECE]; /* under the lock */
    while (bytes) {
        size_t size = bytes < sizeof here ? bytes : sizeof here;
        struct iovec to = {here, size}, at = {(void *)from, size};
        if (process_vm_readv(getpid(), &to, 1, &at, 1, 0) != (ssize_t)size) return false;
        *mixed = digest_bytes(*mixed, here, size);
        from += size;
        bytes -= size;
    }
    return true;
}

/* The digest of a copy's host memory, 0 where it cannot be read. */
static uint64_t digest_host(const struct copy *copy) {
    bool dense = copy->host_row == copy->row && copy->host_slice == copy->row * copy->rows;
    size_t all = copy->row * copy->rows * copy->slices, step = (all + MOST_BYTES - 1) / MOST_BYTES;
    uint64_t mixed = DIGEST_START;
    if (dense && step <= 1) {
        if (!digest_safely(&mixed, copy->host, all)) return 0;
    } else if (dense) {
        for (size_t at = 0; at < all; at += step * PIECE)
            if (!digest_safely(&mixed, copy->host + at, all - at < PIECE ? all - at : PIECE)) return 0;
    } else {
        for (size_t row = 0; row < copy->rows * copy->slices; row += step) {
            const uint8_t *host = copy->host + row / copy->rows * copy->host_slice + row % copy->rows * copy->host_row;
            if (!digest_safely(&mixed, host, copy->row)) return 0;
        }
    }
    return mixed | 1;
}

static bool lies_in(const void *pointer, const uint8_t *memory, uint64_t bytes) {
    return (uint64_t)((const uint8_t *)pointer - memory) < bytes;
}

/* Whether a command takes its data from the host's memory, or brings it there, after it was enqueued. */
static bool is_watched(const struct event *event) {
    switch (event->type) {
    case CL_COMMAND_READ_BUFFER:
    case CL_COMMAND_WRITE_BUFFER:
    case CL_COMMAND_READ_BUFFER_RECT:
    case CL_COMMAND_WRITE_BUFFER_RECT:
    case CL_COMMAND_READ_IMAGE:
    case CL_COMMAND_WRITE_IMAGE:
    case CL_COMMAND_SVM_MEMCPY: break;
    default: return false;
    }
    const struct link *link = event->link; /* memory of the device is not memory of the host, even where it is mapped */
    return event->copy.way != NO_COPY && !lies_in(event->copy.host, link->heap, link->heap_bytes) &&
           !lies_in(event->copy.host, link->staging, ADRENO_STAGING_BYTES);
}

static struct pending *unlink_pending(struct link *link, struct pending **at) {
    struct pending *found = *at;
    *at = found->next;
    atomic_fetch_sub(&link->pending_count, 1);
    if (found->event) found->event->pending = NULL;
    return found;
}

static void tell_change(struct pending *pending) {
    bool told = entered.told; /* of the transfer, not of the call in which it is seen */
    note_misuse((struct misuse){.what = ADRENO_MISUSE_HOST_MEMORY_CHANGED, .call = pending->call},
                "the host changed %zu bytes of its memory before it knew that the command which %s them was complete: %s",
                pending->copy.row * pending->copy.rows * pending->copy.slices, pending->reads ? "writes" : "reads",
                pending->reads ? "what it wrote there may be lost" : "the device may get what was there before or what is there now");
    entered.told = told;
}

/* Whether the memory is what it was. If it is not, this is reported once. */
static bool check_pending(struct pending *pending) {
    uint64_t now = pending->digest ? digest_host(&pending->copy) : 0;
    if (!pending->digest || now == pending->digest) return true;
    tell_change(pending);
    pending->digest = 0; /* nothing more is said of it */
    return false;
}

static bool overlap(const struct copy *one, const struct copy *other) {
    const uint8_t *end = one->host + (one->slices - 1) * one->host_slice + (one->rows - 1) * one->host_row + one->row;
    const uint8_t *behind = other->host + (other->slices - 1) * other->host_slice + (other->rows - 1) * other->host_row + other->row;
    return one->host < behind && other->host < end;
}

/* Settles what is watched of a copy's memory already: what is complete is compared now. Returns whether the copy can be watched as
   well: not beside a command that may bring data there at any time; there may be thousands of these. */
static bool settle_overlapping(struct link *link, const struct copy *copy) {
    for (struct pending **at = &link->pending; *at;) {
        struct pending *pending = *at;
        if (!overlap(&pending->copy, copy)) {
            at = &pending->next;
        } else if (!pending->event) {
            check_pending(pending);
            free(unlink_pending(link, at));
        } else if (pending->reads || copy->way == FROM_STAGING) {
            return false;
        } else {
            at = &pending->next;
        }
    }
    return true;
}

void watch_host(struct event *event) {
    struct link *link = event->link;
    if (!is_watched(event) || !settle_overlapping(link, &event->copy)) return;
    struct pending *made = calloc(1, sizeof *made), **end = &link->pending;
    if (!made) return;
    *made = (struct pending){.event = event, .copy = event->copy, .queue = event->queue->number, .call = event->call};
    made->reads = event->copy.way == FROM_STAGING;
    if (!(made->digest = digest_host(&made->copy))) {
        free(made);
        return;
    }
    if (atomic_load(&link->pending_count) >= MOST_PENDING) free(unlink_pending(link, &link->pending));
    while (*end) end = &(*end)->next;
    *end = made;
    event->pending = made;
    atomic_fetch_add(&link->pending_count, 1);
}

void begin_host_write(struct link *link, const struct copy *copy) {
    for (struct pending *pending = link->pending; pending; pending = pending->next)
        if (overlap(&pending->copy, copy)) check_pending(pending);
}

void end_host_write(struct link *link, const struct copy *copy) {
    for (struct pending *pending = link->pending; pending; pending = pending->next)
        if (pending->digest && overlap(&pending->copy, copy)) pending->digest = digest_host(&pending->copy);
}

void copy_to_host(struct link *link, uint8_t *host, const uint8_t *from, size_t bytes) {
    const struct copy copy = {.host = host, .row = bytes, .rows = 1, .slices = 1, .host_row = bytes, .host_slice = bytes};
    bool any = atomic_load(&link->pending_count);
    if (!any) {
        memmove(host, from, bytes);
        return;
    }
    state_lock(link);
    begin_host_write(link, &copy);
    memmove(host, from, bytes);
    end_host_write(link, &copy);
    state_unlock(link);
}

void end_pending(struct event *event, cl_int status) {
    struct link *link = event->link;
    struct pending **at = &link->pending;
    if (!event->pending) return;
    if (status == CL_COMPLETE) {
        event->pending->event = NULL;
        event->pending = NULL;
        return;
    }
    while (*at != event->pending) at = &(*at)->next;
    free(unlink_pending(link, at));
}

void host_knows(struct link *link, const struct queue *queue) {
    struct pending **at = &link->pending;
    while (*at) {
        struct pending *pending = *at;
        if (pending->event || (queue && queue->number != pending->queue && !link->crosses_queues)) {
            at = &pending->next;
            continue;
        }
        check_pending(pending);
        free(unlink_pending(link, at));
    }
}
