/* What is complete: results of the ring, the end of events, and everybody who waits for them. */
#define _GNU_SOURCE
#include "misuse.h"
#include "schedule.h"
#include <errno.h>
#include <time.h>

#define SLICE_NS 100000000

void state_lock(struct link *link) { pthread_mutex_lock(&link->state); }

void state_unlock(struct link *link) {
    struct object **dropped = link->dropped;
    size_t count = link->dropped_count;
    link->dropped_count = 0;
    if (count) { /* what ends may take the lock and drop more */
        link->dropped = NULL;
        link->dropped_room = 0;
    }
    pthread_mutex_unlock(&link->state);
    if (has_misuses()) tell_misuses();
    if (!count) return;
    for (size_t i = 0; i < count; i++) object_drop(dropped[i]);
    free(dropped);
}

void drop_later(struct link *link, void *object) {
    if (link->dropped_count == link->dropped_room) {
        size_t room = link->dropped_room * 2 + 16;
        struct object **grown = realloc(link->dropped, room * sizeof *grown);
        if (!grown) return; /* the object is never freed */
        link->dropped = grown;
        link->dropped_room = room;
    }
    link->dropped[link->dropped_count++] = object;
}

void state_changed(struct link *link) {
    if (link->waiting) pthread_cond_broadcast(&link->changed);
}

void state_wait(struct link *link) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += SLICE_NS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    link->waiting++;
    int woken = pthread_cond_timedwait(&link->changed, &link->state, &end);
    link->waiting--;
    if (woken != ETIMEDOUT) return;
    state_unlock(link);
    link_check(link);
    state_lock(link);
}

static void complete_command(const struct event *event) {
    for (uint32_t i = 0; i < event->held_count; i++)
        if (event->held[i]->class->complete) event->held[i]->class->complete(event->held[i], event);
}

void finish_event(struct event *event, cl_int status, uint64_t started, uint64_t ended) {
    struct link *link = event->link;
    struct queue *queue = event->queue;
    if (atomic_load(&event->status) <= CL_COMPLETE) return;
    complete_copy(event, status);
    end_pending(event, status);
    if (status == CL_COMPLETE) complete_command(event);
    uint64_t now = now_ns();
    if (!event->submitted) event->submitted = event->queued;
    event->started = started < event->submitted ? event->submitted : started;
    event->ended = ended < event->started ? event->started : ended > now ? now : ended;
    if (event->ended < event->started) event->ended = event->started;
    atomic_store(&event->status, status);
    if (event->watched) link->watched--;
    event->watched = false;
    due_callbacks(event, status);
    forget_waits(event);
    if (!event->borrowed) free(event->body);
    event->body = NULL;
    if (!event->number)
        resolve_event(event);
    else
        state_changed(link);
    for (uint32_t i = 0; i < event->held_count; i++) drop_later(link, event->held[i]);
    event->held_count = 0;
    if (!queue) return;
    if (status < 0 && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
        if (!queue->failed) queue->failed = status;
        due_context_notice(event, status);
    }
    drop_later(link, event);
}

void pump(struct link *link) {
    uint64_t done = ring_completed(link);
    if (done > link->pushed) done = link->pushed;
    while (link->pumped < done) {
        uint64_t number = ++link->pumped, started, ended;
        struct event *event = link->running[number % ADRENO_RESULTS];
        cl_int status;
        if (!event) continue;
        link->running[number % ADRENO_RESULTS] = NULL;
        ring_result(link, number, &started, &ended, &status);
        finish_event(event, status, started, ended);
    }
}

/* Waits a while for command `number`, and takes the results. Under the lock, which it frees meanwhile. */
static void await_number(struct link *link, uint64_t number) {
    state_unlock(link);
    if (!ring_wait(link, number)) link_check(link);
    state_lock(link);
    pump(link);
}

cl_int wait_event(struct event *event) {
    struct link *link = event->link;
    state_lock(link);
    if (event->queue) note_host_waits(event->queue, event->sequence);
    pump(link);
    while (atomic_load(&event->status) > CL_COMPLETE && !link_lost(link)) {
        if (event->number)
            await_number(link, event->number);
        else
            state_wait(link);
    }
    cl_int status = atomic_load(&event->status);
    if (status <= CL_COMPLETE) tell_known_event(event);
    if (status <= CL_COMPLETE && event->queue) host_knows(link, event->queue);
    state_unlock(link);
    entered.waited |= status < CL_COMPLETE;
    return status > CL_COMPLETE ? CL_DEVICE_NOT_AVAILABLE : status;
}

cl_int wait_queue(struct queue *queue) {
    struct link *link = queue->context->link;
    state_lock(link);
    pump(link);
    uint64_t last = queue->enqueued;
    note_host_waits(queue, last);
    while (queue->first_deferred && queue->first_deferred->sequence <= last && !link_lost(link)) state_wait(link);
    uint64_t number = queue->last_number;
    while (link->pumped < number && !link_lost(link)) await_number(link, number);
    cl_int failed = queue->failed;
    queue->failed = CL_SUCCESS;
    tell_known_queue(queue, number);
    host_knows(link, queue);
    state_unlock(link);
    entered.waited |= failed != CL_SUCCESS;
    return link_lost(link) ? CL_DEVICE_NOT_AVAILABLE : failed;
}

void drain_locked(struct link *link) {
    while (link->pumped < link->pushed) {
        if (!ring_wait(link, link->pushed) && link_ended(link)) return;
        pump(link);
    }
}

void drain(struct link *link) {
    state_lock(link);
    uint64_t number = link->pushed;
    while (link->pumped < number && !link_lost(link)) await_number(link, number);
    state_unlock(link);
}

cl_int event_status(struct event *event) {
    struct link *link = event->link;
    cl_int status = atomic_load(&event->status);
    if (!event->queue || (status <= CL_COMPLETE && !link->tells_order && !atomic_load(&link->pending_count))) return status;
    link_check(link);
    state_lock(link);
    pump(link);
    status = atomic_load(&event->status);
    if (status <= CL_COMPLETE) tell_known_event(event);
    if (status <= CL_COMPLETE) host_knows(link, event->queue);
    if (status == CL_SUBMITTED && ring_completed(link) + 1 >= event->number) status = CL_RUNNING;
    state_unlock(link);
    return status;
}

cl_int set_user_event(struct event *event, cl_int status) {
    struct link *link = event->link;
    cl_int error = CL_INVALID_OPERATION;
    state_lock(link);
    if (atomic_load(&event->status) > CL_COMPLETE) {
        error = CL_SUCCESS;
        finish_event(event, status, 0, 0);
        run_ready(link);
    }
    state_unlock(link);
    return error;
}
