/* Commands and their events: which may go into the ring, which wait in the shim, and what happens when they are complete.

   Commands run in the order of the ring. So a command may go into it when everything that it waits for is complete or in the
   ring. What is behind a user event waits in the shim. */
#pragma once

#include "link.h"

struct context {
    struct object head;
    struct link *link;
    cl_words *properties;
    size_t property_count; /* with the 0 at the end; 0: none were given */
    struct notice *destructors;
    context_notice notice; /* called for commands that fail; NULL: nobody */
    void *notice_data;
};

/* A destructor callback. */
struct notice {
    struct notice *next;
    void (*call)(void *object, void *data);
    void *data;
};

/* A command that waits for one of another queue which was not flushed then. Sequences; 0: there is none. */
struct need {
    uint64_t queue, command; /* the other queue's number, and the command for which this one waits */
    uint64_t by;             /* the command that waits */
    uint32_t call;
};

struct queue {
    struct object head;
    struct context *context; /* held */
    uint64_t number;
    cl_bitfield properties;
    cl_properties *list;
    size_t list_count;
    /* under the lock of the link's state: */
    struct event *first_deferred, *last_deferred;
    struct event *barrier;                /* the last one, while it waits in the shim */
    uint64_t last_number, barrier_number; /* in the ring */
    uint64_t enqueued;                    /* sequence of the last command */
    uint64_t known_number;                /* the last one in the ring that clFinish has shown to be complete */
    cl_int failed;                        /* how a command failed that nobody asked about yet */
    uint32_t unflushed;                   /* launches since it was flushed */
    struct need needs;
};

enum way { NO_COPY, TO_STAGING, FROM_STAGING };

/* The host's side of a transfer: `rows` x `slices` rows of `row` bytes at `host`, without padding in staging. */
struct copy {
    enum way way;
    uint8_t *host;
    size_t row, rows, slices, host_row, host_slice;
    uint64_t at, bytes; /* in staging; bytes 0: not taken yet */
    bool keep;          /* staging belongs to a mapping, which outlives the command */
    uint8_t *straight;  /* the bytes in the heap if they lie there side by side; else NULL */
    uint64_t memory, offset;
};

#define HELD 6

/* `to` waits until the event that has this edge is complete or in the ring. It is held by the edge. */
struct edge {
    struct event *to;
    struct edge *next;
};

struct event {
    struct object head;
    struct link *link;
    struct context *context; /* held */
    struct queue *queue;     /* held; NULL: a user event */
    cl_uint type;
    const char *kernel; /* name of the kernel of a launch, which the command holds; else NULL */
    uint32_t call, thread;
    _Atomic cl_int status;
    uint64_t number;   /* in the ring; 0: not there */
    uint64_t sequence; /* of enqueueing */
    uint64_t queued, submitted, started, ended;

    struct event **waits; /* held until it is in the ring */
    uint32_t wait_count, missing; /* missing: how many neither complete nor in the ring, the queue's order included */
    bool by_host;                 /* run by the host's thread that enqueued it, never in the ring */
    bool crosses_queues;          /* it waits for an event that is none of its queue */
    bool all_before;              /* a barrier or marker that waits for the whole queue */
    struct edge *edges;              /* to this event, one for each that is missing */
    struct edge *first_dependent, *last_dependent; /* from this event */
    struct event *next_deferred, *previous_deferred; /* of its queue */
    struct event *next_waiting, *previous_waiting;   /* of the link */
    struct event *next_ready, *next_copying;

    uint16_t command;
    uint32_t body_size;
    void *body;    /* of a command that waits in the shim: a copy */
    bool borrowed; /* the body lies on the stack of whoever enqueues */
    struct copy copy;
    struct object *held_here[HELD], **held;
    uint32_t held_count;
    struct callback *callbacks;
    bool watched; /* counted in the link's `watched` */
    bool known;   /* the server has a note that the host knows it complete */
    struct pending *pending; /* the host's memory is watched */
    uint64_t mapping; /* number of the mapping that it makes; 0: none */
};

/* A command as a function of the API describes it. */
struct command {
    struct queue *queue;
    cl_uint type;      /* CL_COMMAND_* */
    uint16_t kind;     /* ADRENO_COMMAND_* */
    void *body; /* of a transfer that goes through staging: its place there is filled in */
    uint32_t body_size;
    struct copy copy;
    struct object *const *held; /* kept alive until it is complete */
    uint32_t held_count;
    const char *kernel; /* of a launch */
    bool all_before, barrier;
    uint64_t mapping; /* that it makes */
};

/* Returns the event of a command, or of the user. NULL: no memory. */
struct event *new_event(struct context *context, uint32_t users);

/* Checks a queue and a wait list as every clEnqueue function does. */
cl_int check_enqueue(struct queue *queue, cl_uint wait_count, const cl_event *waits);

/* Enqueues a command; `event` may be NULL. With `blocking` it returns when the command is complete: the command's failure is an
   error then. */
cl_int enqueue(const struct command *command, cl_uint wait_count, const cl_event *waits, cl_event *event, bool blocking);

/* A command that the calling thread runs itself: between begin and end everything that it waits for is complete, and what is
   enqueued behind it in an in-order queue waits for it. begin returns NULL and an error, and then there is no end. */
struct event *begin_by_host(const struct command *command, cl_uint wait_count, const cl_event *waits, cl_int *error);
/* kind: what the host did, with its body of `size` bytes: WRITTEN, HOST_READ; or NOTHING. */
void end_by_host(struct event *made, uint16_t kind, const void *body, uint32_t size, cl_event *event);

/* Puts a command without event into the ring (WRITTEN, FREE). */
void enqueue_silently(struct link *link, uint16_t kind, const void *body, uint32_t size);

/* Waits until the command or user event is complete. Returns its status. */
cl_int wait_event(struct event *event);
/* Waits until what was enqueued so far is complete. Returns what failed since the last time. */
cl_int wait_queue(struct queue *queue);
/* Waits until all that is in the ring is complete, and takes the results. */
void drain(struct link *link);
/* Takes the results of complete commands. Under the lock. */
void pump(struct link *link);
/* The status of an event as a query answers it. */
cl_int event_status(struct event *event);
/* Sets a user event. CL_INVALID_OPERATION if it is set already. */
cl_int set_user_event(struct event *event, cl_int status);

/* order.c: what orders commands besides the ring, for the server to find those that nothing orders. A queue is made: */
void tell_queue(struct queue *queue);

/* The program flushes a queue, or releases it. Takes the lock. */
void flush_queue(struct queue *queue);

/* Under the lock of the link's state: */

/* A command has its sequence: launches are counted until a flush, and what it needs of other queues is remembered. */
void note_enqueued(struct event *made);
/* The host waits for all of a queue up to a command with this sequence: a flush, too. */
void note_host_waits(struct queue *queue, uint64_t sequence);
/* The host knows that an event, a command in the ring, or all of a queue up to the number `last`, is complete. */
void tell_known_event(struct event *event);
void tell_known_number(const struct event *from, uint64_t number);
void tell_known_queue(struct queue *queue, uint64_t last);
/* Puts a command that nobody waits for into the ring. Returns its number, 0 where the link is lost. */
uint64_t push_silently(struct link *link, uint16_t kind, const struct event *from, const void *body, uint32_t size);

/* Fails all commands: the link is lost. */
void schedule_abandon(struct link *link);
/* An event is complete: the host's side of its copy, its status, callbacks, what depends on it. */
void finish_event(struct event *event, cl_int status, uint64_t started, uint64_t ended);
/* Puts a command whose turn it is into the ring, with the host's side of its copy. */
void push_event(struct event *event);
/* Puts commands into the ring that became ready, in the order of enqueueing. */
void run_ready(struct link *link);
/* Makes ready what waited for this event alone. */
void resolve_event(struct event *event);
void forget_waits(struct event *event);
/* Waits until all that is in the ring is complete. */
void drain_locked(struct link *link);
/* copies.c: before a command goes into the ring. Returns an error of the command. */
cl_int prepare_copy(struct event *event);
/* When it is complete. */
void complete_copy(struct event *event, cl_int status);
/* pending.c, under the lock: a command that does not block was enqueued, whose host memory must not change from now on. */
void watch_host(struct event *event);
/* It has ended. */
void end_pending(struct event *event, cl_int status);
/* A command brings data to the host's memory between these two: no change of the host's. */
void begin_host_write(struct link *link, const struct copy *copy);
void end_host_write(struct link *link, const struct copy *copy);
/* The host knows of something in a queue that it is complete; NULL: in any. Memory that was changed before is reported. */
void host_knows(struct link *link, const struct queue *queue);
/* The same around a copy by the host's own thread, without the lock. */
void copy_to_host(struct link *link, uint8_t *host, const uint8_t *from, size_t bytes);
#define DIGEST_START 0x9E3779B97F4A7C15u
uint64_t digest_bytes(uint64_t mixed, const uint8_t *from, size_t bytes);

/* copies.c, without the lock: runs a WRITE outside of queues, for an image that is being made. */
cl_int write_image_now(struct link *link, struct copy *copy, void *body);

/* ring.c: room for a command of so many bytes in the ring and in the table of results. Waits for it under the lock; false where
   the link is lost. */
bool ring_reserve(struct link *link, size_t bytes);
size_t ring_bytes(uint32_t waits, uint32_t body);
/* Writes a command for which there is room, and wakes the server. Returns its number. */
uint64_t ring_write(struct link *link, uint16_t kind, const struct event *from, const uint64_t *waits, uint16_t wait_count,
                    const void *body, uint32_t size);
void ring_open(struct link *link);
uint64_t ring_completed(const struct link *link);
void ring_result(const struct link *link, uint64_t number, uint64_t *started, uint64_t *ended, cl_int *status);
/* Waits until command `number` is complete, without the lock. False where that took longer than 100 ms or the link is lost. */
bool ring_wait(struct link *link, uint64_t number);

/* staging.c, under the lock: a range of staging, or false. */
bool staging_take(struct link *link, uint64_t bytes, uint64_t *at);
void staging_give(struct link *link, uint64_t at, uint64_t bytes);

/* callbacks.c: notices for the host's program, called by a thread of their own in the order in which they became due. */
cl_int add_event_callback(struct event *event, cl_int trigger, event_notice notice, void *data);
/* Moves the callbacks of an event that are due at `status` to those that are to be called. Under the lock. */
void due_callbacks(struct event *event, cl_int status);
/* Tells the context of an event, if it asked for that, that the command failed. Under the lock. */
void due_context_notice(struct event *event, cl_int status);
/* Tells a context, if it asked for that, that the call in this thread is refused. */
void tell_refusal(struct context *context, cl_int code, const char *why);
void call_later(struct link *link, void (*call)(void *, void *), void *object, void *data);
/* Starts the thread that calls, once. */
void start_caller(struct link *link);
/* Calls and frees destructor callbacks, the last registered first. */
void call_notices(struct notice *first, void *object);
bool add_notice(struct notice **first, void (*call)(void *, void *), void *data);

uint64_t now_ns(void);
uint32_t thread_number(void);
