/* Callbacks of the host's program: called by one thread, which holds no lock meanwhile, in the order in which they became due. */
#define _GNU_SOURCE
#include "schedule.h"
#include <signal.h>
#include <stdio.h>

static void append(struct link *link, struct callback *callback) {
    callback->next = NULL;
    *(link->last_callback ? &link->last_callback->next : &link->first_callback) = callback;
    link->last_callback = callback;
    pthread_cond_signal(&link->to_call);
}

void due_callbacks(struct event *event, cl_int status) {
    if (!event->callbacks) return;
    cl_int lowest = status < CL_COMPLETE ? CL_COMPLETE : status;
    for (cl_int trigger = CL_SUBMITTED; trigger >= lowest; trigger--)
        for (struct callback **at = &event->callbacks; *at;) {
            struct callback *callback = *at;
            if (callback->trigger != trigger) {
                at = &callback->next;
                continue;
            }
            *at = callback->next;
            callback->status = status < CL_COMPLETE ? status : trigger;
            append(event->link, callback);
        }
    if (event->callbacks && event->number && !event->watched) {
        event->watched = true;
        event->link->watched++;
        pthread_cond_signal(&event->link->to_call);
    }
}

cl_int add_event_callback(struct event *event, cl_int trigger, event_notice notice, void *data) {
    struct link *link = event->link;
    struct callback *made = calloc(1, sizeof *made), **at = &event->callbacks;
    if (!made) return CL_OUT_OF_HOST_MEMORY;
    *made = (struct callback){.event = event, .on_event = notice, .data = data, .trigger = trigger};
    object_hold(event);
    start_caller(link);
    state_lock(link);
    pump(link);
    while (*at) at = &(*at)->next;
    *at = made;
    cl_int status = atomic_load(&event->status);
    if (status < CL_QUEUED) due_callbacks(event, status);
    state_unlock(link);
    return CL_SUCCESS;
}

void call_later(struct link *link, void (*call)(void *, void *), void *object, void *data) {
    struct callback *made = calloc(1, sizeof *made);
    if (!made) return;
    *made = (struct callback){.on_other = call, .object = object, .data = data};
    object_hold(object);
    start_caller(link);
    state_lock(link);
    append(link, made);
    state_unlock(link);
}

static void tell_context(void *object, void *text) {
    struct context *context = object;
    context->notice(text, NULL, 0, context->notice_data);
    free(text);
}

/* A context with a notice gets `text`, which is freed then. */
static struct callback *make_context_notice(struct context *context, char *text) {
    struct callback *made = calloc(1, sizeof *made);
    if (!made) {
        free(text);
        return NULL;
    }
    *made = (struct callback){.on_other = tell_context, .object = context, .data = text};
    object_hold(context);
    return made;
}

void due_context_notice(struct event *event, cl_int status) {
    char *text;
    if (!event->context->notice) return;
    const char *what = event->kernel ? event->kernel : "a command";
    if (asprintf(&text, "call %u: %s failed with %s (%d)", event->call, what, error_name(status), status) < 0) return;
    struct callback *made = make_context_notice(event->context, text);
    if (made) append(event->link, made);
}

void tell_refusal(struct context *context, cl_int code, const char *why) {
    char *text;
    if (!context->notice) return;
    int bytes = asprintf(&text, "call %u: %s gives %s (%d)%s%s", entered.call, entered.function, error_name(code), code,
                         *why ? ": " : "", why);
    struct callback *made = bytes < 0 ? NULL : make_context_notice(context, text);
    if (!made) return;
    start_caller(context->link);
    state_lock(context->link);
    append(context->link, made);
    state_unlock(context->link);
}

static void call(struct link *link, struct callback *due) {
    if (due->on_event) {
        if (due->status <= CL_COMPLETE) event_status(due->event); /* from now on the host knows it */
        due->on_event(due->event, due->status, due->data);
    } else {
        state_lock(link);
        host_knows(link, NULL); /* that a memory or a context is at its end says that of what it was used for */
        state_unlock(link);
        due->on_other(due->object, due->data);
    }
    object_drop(due->event ? (void *)due->event : due->object);
    free(due);
}

static void *run_callbacks(void *of) {
    struct link *link = of;
    state_lock(link);
    for (;;) {
        pump(link);
        struct callback *due = link->first_callback;
        if (due) {
            link->first_callback = due->next;
            if (!due->next) link->last_callback = NULL;
            state_unlock(link);
            call(link, due);
            state_lock(link);
        } else if (link->watched && link->pumped < link->pushed && !link_lost(link)) {
            uint64_t next = link->pumped + 1;
            state_unlock(link);
            if (!ring_wait(link, next)) link_check(link);
            state_lock(link);
        } else if (link->dropped_count) {
            state_unlock(link);
            state_lock(link);
        } else {
            pthread_cond_wait(&link->to_call, &link->state);
        }
    }
    return NULL;
}

void start_caller(struct link *link) {
    state_lock(link);
    if (!link->caller_runs) {
        sigset_t all, before;
        pthread_attr_t detached;
        pthread_t thread;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* the host's signals are for its own threads */
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        link->caller_runs = pthread_create(&thread, &detached, run_callbacks, link) == 0;
        pthread_attr_destroy(&detached);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    state_unlock(link);
}

void call_notices(struct notice *first, void *object) {
    while (first) {
        struct notice *next = first->next;
        first->call(object, first->data);
        free(first);
        first = next;
    }
}

bool add_notice(struct notice **first, void (*call)(void *, void *), void *data) {
    struct notice *made = malloc(sizeof *made);
    if (!made) return false;
    *made = (struct notice){.next = *first, .call = call, .data = data};
    *first = made;
    return true;
}
