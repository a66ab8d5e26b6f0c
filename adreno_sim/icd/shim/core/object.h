/* What every object of OpenCL begins with: the table through which a loader calls, and its references. */
#pragma once

#include "../functions.h"
#include "entered.h"
#include <stdatomic.h>
#include <stdbool.h>

enum kind { NO_KIND, PLATFORM, DEVICE, CONTEXT, QUEUE, EVENT, MEMORY, SAMPLER, PROGRAM, KERNEL, KINDS };

struct object;
struct context;
struct event;

/* What the objects of a kind are to the shim, by the file that knows them. */
struct object_class {
    enum kind kind;
    size_t size;
    void (*end)(struct object *);                      /* its last hold was given back. Called without a lock */
    struct context *(*context)(const struct object *); /* to which it belongs */
    /* A command that holds it begins, under the lock of the link's state; NULL: that is nothing to it. */
    void (*begin)(const struct object *, const struct event *);
    void (*complete)(const struct object *, const struct event *); /* Such a command is complete, under that lock, and the host does not know it yet. */
};

/* `users` are the references that the host's program counts. `holds` are the shim's own, and one of them stands for all users;
   the object dies with the last. A handle is valid until then, as a context is that only its queues still hold. */
struct object {
    const struct dispatch *dispatch;
    const struct object_class *class;
    _Atomic uint32_t magic; /* MAGIC + kind while it lives */
    _Atomic uint32_t users, holds;
    uint32_t call;       /* number of the host's call that made it */
    uint32_t place;      /* where that came from; 0: not known */
    _Atomic uint64_t serial; /* never used twice */
    void *made_at;       /* the address that call returned to */
    struct object *next, *previous;
};

#define MAGIC 0xAD7E0000u

struct link;

/* Returns an object, zero except for its head, with one hold and `users` references (0 or 1). NULL: no memory. */
void *object_new(const struct object_class *class, uint32_t users, void *made_at);
/* Whether `handle` is an object of this kind that lives. One that is dead is a use after release. Call it without a lock. */
bool object_is(const void *handle, enum kind kind);
/* The kind of an object that lives, NO_KIND of any other. */
enum kind object_kind(const void *handle);
/* The context of an object that lives; NULL: it has none, or is none. */
struct context *context_of(const void *handle);
void object_hold(void *object);
/* Gives back a hold. The last ends the object, for which locks are taken: call it without one. */
void object_drop(void *object);
cl_int object_retain(void *object, enum kind kind, cl_int error);
cl_int object_release(void *object, enum kind kind, cl_int error);
uint64_t object_serial(const void *object);

/* Calls `tell` for every object that the host's program made and never released, oldest first. */
void objects_for_leaks(void (*tell)(const struct object *, enum kind, void *), void *data);
/* Tells of the call that runs now: its object was released by the host's program. Call it without a lock. */
void used_after_release(const struct object *object, enum kind kind);
const char *object_kind_name(enum kind kind);
/* Around fork: no thread is inside in the child. */
void objects_lock(void);
void objects_unlock(void);
void objects_after_fork(void);

/* The number of this call of the host that makes, enqueues or builds something, or is refused, from 1. */
uint32_t count_call(void);
/* The number of a request that such a call makes. */
uint32_t count_request(void);
/* The last number given. */
uint32_t last_call(void);
