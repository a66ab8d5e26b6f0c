/* Enqueueing: what a command waits for, whether it goes into the ring now, and what follows when an event lets others go. */
#include "schedule.h"

cl_int check_enqueue(struct queue *queue, cl_uint wait_count, const cl_event *waits) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (link_lost(queue->context->link)) return CL_DEVICE_NOT_AVAILABLE;
    if (!waits != !wait_count) return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < wait_count; i++) {
        if (!object_is(waits[i], EVENT)) return CL_INVALID_EVENT_WAIT_LIST;
        if (waits[i]->context != queue->context) return CL_INVALID_CONTEXT;
    }
    return CL_SUCCESS;
}

static void end_event(struct object *object) {
    struct event *event = (struct event *)object;
    for (struct edge *edge = event->first_dependent; edge;) {
        struct event *waiting = edge->to;
        edge = edge->next;
        object_drop(waiting);
    }
    free(event->waits);
    free(event->edges);
    if (event->held != event->held_here) free(event->held);
    if (event->queue) object_drop(event->queue);
    if (event->context) object_drop(event->context);
}

static struct context *context_of_event(const struct object *object) { return ((const struct event *)object)->context; }

static const struct object_class event_class = {EVENT, sizeof(struct event), end_event, context_of_event, NULL};

struct event *new_event(struct context *context, uint32_t users) {
    struct event *made = object_new(&event_class, users, CALLER);
    if (!made) return NULL;
    made->link = context->link;
    made->context = context;
    object_hold(context);
    return made;
}

static bool in_order(const struct queue *queue) { return !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE); }

static struct event *make_event(const struct command *command, cl_uint wait_count, const cl_event *waits) {
    struct queue *queue = command->queue;
    uint32_t call = count_call();
    struct event *made = new_event(queue->context, 0);
    if (!made) return NULL;
    made->queue = queue;
    object_hold(queue);
    made->type = command->type;
    made->kernel = command->kernel;
    made->call = call;
    made->thread = thread_number();
    atomic_store_explicit(&made->status, CL_QUEUED, memory_order_relaxed);
    made->queued = now_ns();
    made->command = command->kind;
    made->body_size = command->body_size;
    made->copy = command->copy;
    made->all_before = command->all_before;
    made->mapping = command->mapping;
    made->held = made->held_here;
    bool failed = false;
    if (command->held_count > HELD && !(made->held = malloc(command->held_count * sizeof *made->held))) failed = true;
    if (wait_count && !(made->waits = malloc(wait_count * sizeof *made->waits))) failed = true;
    if (failed) {
        made->link = NULL; /* was never enqueued */
        object_drop(made);
        return NULL;
    }
    for (uint32_t i = 0; i < command->held_count; i++) object_hold(made->held[i] = command->held[i]);
    for (uint32_t i = 0; i < wait_count; i++) object_hold(made->waits[i] = waits[i]);
    for (uint32_t i = 0; i < wait_count; i++) made->crosses_queues |= waits[i]->queue != queue;
    made->held_count = command->held_count;
    made->wait_count = wait_count;
    return made;
}

static bool unresolved(const struct event *event) { return !event->number && atomic_load(&event->status) > CL_COMPLETE; }

static void add_edge(struct event *from, struct event *to) {
    struct edge *edge = &to->edges[to->missing++];
    *edge = (struct edge){.to = to};
    object_hold(to);
    if (from->last_dependent)
        from->last_dependent->next = edge;
    else
        from->first_dependent = edge;
    from->last_dependent = edge;
}

/* Finds what is neither complete nor in the ring. Returns false where there is no memory. */
static bool find_missing(struct event *made) {
    struct queue *queue = made->queue;
    struct event *before = in_order(queue) ? queue->last_deferred : queue->barrier;
    size_t count = 0;
    for (uint32_t i = 0; i < made->wait_count; i++) count += unresolved(made->waits[i]);
    if (made->all_before)
        for (struct event *other = queue->first_deferred; other; other = other->next_deferred) count++;
    else
        count += before != NULL;
    if (!count) return true;
    if (!(made->edges = malloc(count * sizeof *made->edges))) return false;
    for (uint32_t i = 0; i < made->wait_count; i++)
        if (unresolved(made->waits[i])) add_edge(made->waits[i], made);
    if (made->all_before)
        for (struct event *other = queue->first_deferred; other; other = other->next_deferred) add_edge(other, made);
    else if (before)
        add_edge(before, made);
    return true;
}

static void defer(struct event *made) {
    struct queue *queue = made->queue;
    struct link *link = made->link;
    made->previous_deferred = queue->last_deferred;
    if (queue->last_deferred)
        queue->last_deferred->next_deferred = made;
    else
        queue->first_deferred = made;
    queue->last_deferred = made;
    made->next_waiting = link->deferred;
    if (link->deferred) link->deferred->previous_waiting = made;
    link->deferred = made;
}

static void undefer(struct event *event) {
    struct queue *queue = event->queue;
    struct link *link = event->link;
    if (!event->previous_deferred && queue->first_deferred != event) return;
    *(event->previous_deferred ? &event->previous_deferred->next_deferred : &queue->first_deferred) = event->next_deferred;
    *(event->next_deferred ? &event->next_deferred->previous_deferred : &queue->last_deferred) = event->previous_deferred;
    event->next_deferred = event->previous_deferred = NULL;
    *(event->previous_waiting ? &event->previous_waiting->next_waiting : &link->deferred) = event->next_waiting;
    if (event->next_waiting) event->next_waiting->previous_waiting = event->previous_waiting;
    event->next_waiting = event->previous_waiting = NULL;
}

void forget_waits(struct event *event) {
    for (uint32_t i = 0; i < event->wait_count; i++) drop_later(event->link, event->waits[i]);
    free(event->waits);
    event->waits = NULL;
    event->wait_count = 0;
}

/* Inserts by sequence, from the end of what is mostly in order already. */
static void make_ready(struct event *event) {
    struct event **at = &event->link->ready;
    while (*at && (*at)->sequence < event->sequence) at = &(*at)->next_ready;
    event->next_ready = *at;
    *at = event;
}

void resolve_event(struct event *event) {
    struct queue *queue = event->queue;
    if (queue) {
        undefer(event);
        if (queue->barrier == event) {
            queue->barrier = NULL;
            if (event->number) queue->barrier_number = event->number;
        }
    }
    struct edge *edge = event->first_dependent;
    event->first_dependent = event->last_dependent = NULL;
    while (edge) {
        struct event *waiting = edge->to;
        edge = edge->next; /* it lies in `waiting`, which may be dropped now */
        if (--waiting->missing == 0 && !waiting->by_host && atomic_load(&waiting->status) > CL_COMPLETE) make_ready(waiting);
        drop_later(event->link, waiting);
    }
    state_changed(event->link);
}

void run_ready(struct link *link) {
    struct event *next;
    while ((next = link->ready)) {
        link->ready = next->next_ready;
        next->next_ready = NULL;
        if (atomic_load(&next->status) > CL_COMPLETE) push_event(next);
    }
}

static bool failed_before(const struct event *event) {
    for (uint32_t i = 0; i < event->wait_count; i++)
        if (atomic_load(&event->waits[i]->status) < CL_COMPLETE) return true;
    return false;
}

/* Writes a command with what it waits for. Returns its number, 0 and an error where that cannot be done. */
static uint64_t push_with_waits(struct event *event, uint16_t kind, const void *body, uint32_t size, cl_int *error) {
    struct link *link = event->link;
    uint64_t few[64], *numbers = few, number = 0;
    uint16_t count = 0;
    if (event->wait_count > 64 && !(numbers = malloc(8ull * event->wait_count))) *error = CL_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; !*error && i < event->wait_count; i++) {
        bool needless = atomic_load(&event->waits[i]->status) == CL_COMPLETE && !link->tells_order;
        if (needless || !event->waits[i]->number) continue;
        if (count == UINT16_MAX)
            *error = CL_OUT_OF_RESOURCES;
        else
            numbers[count++] = event->waits[i]->number;
    }
    if (!*error && !ring_reserve(link, ring_bytes(count, size))) *error = CL_DEVICE_NOT_AVAILABLE;
    if (!*error) {
        event->submitted = now_ns();
        number = ring_write(link, kind, event, numbers, count, body, size);
    }
    if (numbers != few) free(numbers);
    return number;
}

uint64_t push_silently(struct link *link, uint16_t kind, const struct event *from, const void *body, uint32_t size) {
    if (link_lost(link) || !ring_reserve(link, ring_bytes(0, size))) return 0;
    uint64_t number = ring_write(link, kind, from, NULL, 0, body, size);
    link->running[number % ADRENO_RESULTS] = NULL;
    return number;
}

static void begin_command(const struct event *event) {
    for (uint32_t i = 0; i < event->held_count; i++)
        if (event->held[i]->class->begin) event->held[i]->class->begin(event->held[i], event);
}

void push_event(struct event *event) {
    struct link *link = event->link;
    cl_int error = failed_before(event) ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : prepare_copy(event);
    uint64_t number = 0;
    if (!error) begin_command(event);
    if (!error) number = push_with_waits(event, event->command, event->body, event->body_size, &error);
    if (error) {
        finish_event(event, error, 0, 0);
    } else {
        event->number = number;
        link->running[event->number % ADRENO_RESULTS] = event;
        event->queue->last_number = event->number;
        atomic_store(&event->status, CL_SUBMITTED);
        if (event->copy.way == FROM_STAGING) {
            *(link->last_copying ? &link->last_copying->next_copying : &link->first_copying) = event;
            link->last_copying = event;
        }
        forget_waits(event);
        resolve_event(event);
        due_callbacks(event, CL_SUBMITTED);
    }
}

/* Gives an event that is on its way to its end to whoever enqueued it. */
static cl_int hand_over(struct event *made, cl_event *event) {
    cl_int status = atomic_load(&made->status);
    if (status == CL_DEVICE_NOT_AVAILABLE && !link_check(made->link)) { /* no room in a ring that nobody reads */
        object_drop(made);
        return status;
    }
    if (event) {
        object_retain(made, EVENT, 0);
        *event = made;
    }
    object_drop(made);
    return CL_SUCCESS;
}

static bool enter(struct event *made, const struct command *command) {
    struct queue *queue = command->queue;
    made->sequence = ++made->link->sequence;
    if (!find_missing(made)) return false;
    queue->enqueued = made->sequence;
    note_enqueued(made);
    made->link->crosses_queues |= made->crosses_queues;
    return true;
}

cl_int enqueue(const struct command *command, cl_uint wait_count, const cl_event *waits, cl_event *event, bool blocking) {
    struct event *made = make_event(command, wait_count, waits);
    if (!made) return CL_OUT_OF_HOST_MEMORY;
    struct link *link = made->link;
    cl_int error = CL_SUCCESS;
    object_hold(made); /* this function's; the first hold is given back when the event is complete */
    state_lock(link);
    if (!enter(made, command)) {
        error = CL_OUT_OF_HOST_MEMORY;
        finish_event(made, error, 0, 0);
    } else if (!made->missing) {
        if (!blocking) watch_host(made);
        made->body = command->body;
        made->borrowed = true;
        push_event(made);
        made->body = NULL;
        run_ready(link);
    } else if (command->body_size && !(made->body = malloc(command->body_size))) {
        error = CL_OUT_OF_HOST_MEMORY;
        finish_event(made, error, 0, 0);
    } else {
        if (command->body_size) memcpy(made->body, command->body, command->body_size);
        if (!blocking) watch_host(made);
        defer(made);
    }
    if (!error && command->barrier && !made->number && atomic_load(&made->status) > CL_COMPLETE)
        command->queue->barrier = made;
    else if (command->barrier && made->number)
        command->queue->barrier_number = made->number;
    state_unlock(link);
    if (error) {
        object_drop(made);
        return error;
    }
    if (blocking) {
        cl_int status = wait_event(made);
        if (status < 0) {
            object_drop(made);
            bool known = status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || status == CL_DEVICE_NOT_AVAILABLE ||
                         status == CL_MEM_OBJECT_ALLOCATION_FAILURE;
            return known ? status : CL_OUT_OF_RESOURCES;
        }
    }
    return hand_over(made, event);
}

/* The last command in the ring that has to be complete before the host's thread may run this one. */
static uint64_t last_before(const struct event *event) {
    uint64_t last = in_order(event->queue) ? event->queue->last_number : event->queue->barrier_number;
    for (uint32_t i = 0; i < event->wait_count; i++)
        if (event->waits[i]->number > last) last = event->waits[i]->number;
    return last;
}

struct event *begin_by_host(const struct command *command, cl_uint wait_count, const cl_event *waits, cl_int *error) {
    struct event *made = make_event(command, wait_count, waits);
    if (!made) {
        *error = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    struct link *link = made->link;
    object_hold(made);
    made->by_host = true;
    *error = CL_SUCCESS;
    state_lock(link);
    if (!enter(made, command)) *error = CL_OUT_OF_HOST_MEMORY;
    if (!*error) defer(made);
    if (!*error) note_host_waits(made->queue, made->sequence);
    while (!*error) {
        pump(link);
        uint64_t last = last_before(made);
        if (atomic_load(&made->status) < 0)
            *error = CL_DEVICE_NOT_AVAILABLE;
        else if (made->missing)
            state_wait(link);
        else if (failed_before(made))
            *error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        else if (last <= link->pumped)
            break;
        else {
            state_unlock(link);
            if (!ring_wait(link, last)) link_check(link);
            state_lock(link);
        }
    }
    if (*error) {
        finish_event(made, *error, 0, 0);
        run_ready(link);
    } else {
        begin_command(made);
    }
    made->submitted = made->started = now_ns();
    state_unlock(link);
    if (!*error) return made;
    object_drop(made);
    return NULL;
}

void end_by_host(struct event *made, uint16_t kind, const void *body, uint32_t size, cl_event *event) {
    struct link *link = made->link;
    cl_int error = CL_SUCCESS;
    state_lock(link);
    if (kind != ADRENO_COMMAND_NOTHING || link->tells_order) {
        uint64_t number = push_with_waits(made, kind, body, kind == ADRENO_COMMAND_NOTHING ? 0 : size, &error);
        if (number) link->running[number % ADRENO_RESULTS] = NULL;
        tell_known_number(made, number);
    }
    made->submitted = made->started;
    finish_event(made, CL_COMPLETE, made->started, now_ns());
    host_knows(link, made->queue);
    run_ready(link);
    state_unlock(link);
    hand_over(made, event);
}

void enqueue_silently(struct link *link, uint16_t kind, const void *body, uint32_t size) {
    if (link_lost(link)) return;
    state_lock(link);
    push_silently(link, kind, NULL, body, size);
    state_unlock(link);
}

void schedule_abandon(struct link *link) {
    while (link->deferred) finish_event(link->deferred, CL_DEVICE_NOT_AVAILABLE, 0, 0);
    for (uint64_t number = link->pumped + 1; number <= link->pushed; number++) {
        struct event *event = link->running[number % ADRENO_RESULTS];
        link->running[number % ADRENO_RESULTS] = NULL;
        if (event) finish_event(event, CL_DEVICE_NOT_AVAILABLE, 0, 0);
    }
    link->pumped = link->pushed;
    link->ready = NULL;
    pthread_cond_broadcast(&link->changed);
    if (link->caller_runs) pthread_cond_signal(&link->to_call);
}
