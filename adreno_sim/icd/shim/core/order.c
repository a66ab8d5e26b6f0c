/* What orders commands besides their place in the ring: sent to the server, which looks for commands that nothing orders. One queue
   in order needs none of it. What one thread of the host knows to be complete counts as known to all: how they order each other
   is not seen here. */
#include "misuse.h"
#include "schedule.h"

struct order_body {
    uint32_t what, in_order;
    uint64_t which;
};
_Static_assert(sizeof(struct order_body) == ADRENO_SIZE_ORDER_BODY, "ORDER_BODY is without padding");

static void tell(struct link *link, const struct event *from, struct order_body body) {
    push_silently(link, ADRENO_COMMAND_ORDER, from, &body, sizeof body);
}

void tell_queue(struct queue *queue) {
    struct link *link = queue->context->link;
    flush_queue(queue);
    bool in_order = !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (in_order && queue->number == 1) return;
    state_lock(link);
    link->tells_order = true;
    tell(link, NULL, (struct order_body){ADRENO_ORDER_QUEUE, in_order, queue->number});
    state_unlock(link);
}

void tell_known_number(const struct event *from, uint64_t number) {
    if (from->link->tells_order && number) tell(from->link, from, (struct order_body){ADRENO_ORDER_KNOWN, 0, number});
}

void tell_known_event(struct event *event) {
    if (event->known) return;
    event->known = true;
    tell_known_number(event, event->number);
}

void tell_known_queue(struct queue *queue, uint64_t last) {
    struct link *link = queue->context->link;
    if (!link->tells_order || last <= queue->known_number) return;
    queue->known_number = last;
    struct event from = {.queue = queue, .thread = thread_number()};
    tell(link, &from, (struct order_body){ADRENO_ORDER_KNOWN_QUEUE, 0, last});
}

/* Drivers hand commands over where a program flushes, and keep the others in memory of the host: this one always hands over. */

#define MOST_UNFLUSHED 1000 /* launches from which on the note is given; no driver publishes its own number */

static void note_flushed(struct queue *queue, uint64_t command) {
    struct link *link = queue->context->link;
    link->flushes[queue->number % FLUSHES].queue = queue->number;
    link->flushes[queue->number % FLUSHES].command = command;
    queue->unflushed = 0;
}

/* Whether a command was handed over for certain; of a queue that shares its place with a later one nobody knows. */
static bool may_wait(const struct link *link, uint64_t queue, uint64_t command) {
    return link->flushes[queue % FLUSHES].queue == queue && link->flushes[queue % FLUSHES].command < command;
}

void flush_queue(struct queue *queue) {
    state_lock(queue->context->link);
    note_flushed(queue, queue->enqueued);
    state_unlock(queue->context->link);
}

void note_enqueued(struct event *made) {
    struct queue *queue = made->queue;
    for (uint32_t i = 0; i < made->wait_count; i++) {
        const struct event *from = made->waits[i];
        if (from->queue && from->queue != queue && !from->known && may_wait(made->link, from->queue->number, from->sequence))
            queue->needs = (struct need){from->queue->number, from->sequence, made->sequence, made->call};
    }
    if (made->command == ADRENO_COMMAND_LAUNCH && ++queue->unflushed == MOST_UNFLUSHED)
        note_misuse((struct misuse){.what = ADRENO_MISUSE_QUEUE_NOT_FLUSHED, .call = made->call},
                    "%u launches were enqueued to queue %llu without clFlush, clFinish or a blocking call between them",
                    MOST_UNFLUSHED, (unsigned long long)queue->number);
}

void note_host_waits(struct queue *queue, uint64_t sequence) {
    const struct need needs = queue->needs;
    note_flushed(queue, queue->enqueued);
    if (!needs.by || needs.by > sequence) return;
    queue->needs = (struct need){0};
    if (may_wait(queue->context->link, needs.queue, needs.command))
        note_misuse((struct misuse){.what = ADRENO_MISUSE_WAIT_NOT_FLUSHED, .call = needs.call},
                    "%s waits for a command of queue %llu, which waits for one of queue %llu that nothing has flushed",
                    called_function(), (unsigned long long)queue->number, (unsigned long long)needs.queue);
}
