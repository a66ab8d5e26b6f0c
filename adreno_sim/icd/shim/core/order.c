/* What orders commands besides their place in the ring: sent to the server, which looks for commands that nothing orders. One queue
   in order needs none of it. What one thread of the host knows to be complete counts as known to all: how they order each other
   is not seen here. */
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
