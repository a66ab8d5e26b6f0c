/* The link to the server: memory that both see, requests on the socket, and what the shim knows of the commands in the ring. */
#pragma once

#include "object.h"
#include "protocol.h"
#include "wire.h"
#include <pthread.h>
#include <sys/types.h>

#define FLUSHES 64 /* queues whose flushes are remembered, the last ones made */

struct event;

struct range {
    uint64_t at, bytes;
};

struct callback {
    struct callback *next;
    struct event *event; /* held; NULL for notices without one */
    event_notice on_event;
    void (*on_other)(void *object, void *data); /* where on_event is NULL */
    void *object, *data;
    cl_int trigger, status;
};

struct link {
    int socket;
    pid_t owner; /* the process that opened it: a child of fork has no part in it */
    _Atomic bool losing, lost; /* losing: a thread is about to say that it is lost */
    uint8_t *page, *heap, *staging;
    uint64_t heap_bytes;
    bool shares_addresses; /* the heap lies at the same address as in the server: what kernels read there may be a pointer */
    pthread_mutex_t talk; /* one request at a time */
    pthread_mutex_t looking; /* of the three below */
    uint64_t looked, silent; /* nanoseconds: when the server's beats were last read, how long there were no new ones */
    uint32_t beats;
    _Atomic uint32_t memories, programs, queues; /* numbers given so far */

    /* Answers of HELLO, for as long as the link is. */
    struct bytes hello;
    const uint8_t *platform_answers, *device_answers, *formats;
    uint32_t platform_count, device_count, format_count;
    uint32_t version; /* CL_DEVICE_VERSION as 100 * major + 10 * minor */

    pthread_mutex_t state; /* of all below, of queues, events and maps */
    pthread_cond_t changed;
    uint32_t waiting; /* threads that wait for `changed` */

    uint64_t head;           /* bytes written into the ring so far */
    uint64_t pushed, pumped; /* numbers of the last command in the ring, and of the last whose result was taken */
    struct event *running[ADRENO_RESULTS];

    uint64_t sequence; /* commands enqueued so far */
    struct event *ready; /* commands that may go into the ring now, by sequence */
    struct event *first_copying, *last_copying; /* commands in the ring that write to the host's memory when they are complete */
    struct event *deferred; /* commands that wait in the shim, of all queues; also those that the host's threads run */

    struct pending *pending; /* transfers whose host memory is watched, the oldest first (pending.c) */
    _Atomic uint32_t pending_count;
    bool crosses_queues; /* a command waited for one of another queue: a fact about one may hold for others */

    _Atomic bool tells_order; /* more than one queue in order: the server is notified of what the host waits for (order.c) */

    struct {
        uint64_t queue, command;
    } flushes[FLUSHES]; /* up to which command a queue was flushed: queue n is at n % FLUSHES; under `state` */

    struct memory *shared; /* allocations of shared virtual memory */
    struct map *maps;      /* of all memory (mapped_regions.c) */

    struct range *free_staging; /* by place, never side by side */
    size_t free_count, free_room;

    struct object **dropped; /* holds to give back when `state` is free */
    size_t dropped_count, dropped_room;

    struct callback *first_callback, *last_callback; /* to be called */
    uint32_t watched; /* commands in the ring that have callbacks */
    bool caller_runs; /* the thread that calls them */
    pthread_cond_t to_call;
};

/* Returns the link of this process, started with the server if there is none yet. NULL where no server answers; the reason is printed
   once on standard error. */
struct link *link_open(void);
/* The link of this process if there is one that was not given up. */
struct link *link_current(void);
static inline bool link_lost(const struct link *link) { return atomic_load_explicit(&link->lost, memory_order_relaxed); }

/* Sends a request and returns the reply's status; a failure of the link is CL_DEVICE_NOT_AVAILABLE. `reply` may be NULL; else the
   caller frees reply->data. `body` is freed. */
cl_int link_request(struct link *link, uint32_t kind, struct bytes *body, struct bytes *reply);
/* Gives the link up: commands fail, nobody waits any more. Call it without a lock. */
void link_lose(struct link *link);
/* Whether the server's end of the socket is closed, or the server shows no life. */
bool link_ended(struct link *link);
/* Gives the link up if that is so. */
bool link_check(struct link *link);

/* The answer of the platform or of the device to a query; NULL: it has none. */
const void *link_answer(const uint8_t *answers, uint32_t count, cl_uint query, uint32_t *size);

/* Takes the lock of the link's state. */
void state_lock(struct link *link);
/* Frees it, and gives back what was to be dropped meanwhile. */
void state_unlock(struct link *link);
/* Drops a hold when the lock is freed. Under the lock. */
void drop_later(struct link *link, void *object);
/* Waits for `changed`, at most 100 ms. Under the lock. */
void state_wait(struct link *link);
void state_changed(struct link *link);

/* start/process.c: starts the server with `socket` as its end. Returns false and writes why. */
bool start_server(int socket, char *why, size_t room);
/* start/standby.c: the socket of a server from the process that `adreno-sim run` has begun; -1 if there is none. */
int join_server(void);
