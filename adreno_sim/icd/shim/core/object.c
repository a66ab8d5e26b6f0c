/* Objects of OpenCL: made, counted, ended, and kept for a while so that a stale handle is distinguished from a valid one. */
#include "misuse.h"
#include "places.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#include <sanitizer/asan_interface.h>
#define POISON(from, size) ASAN_POISON_MEMORY_REGION(from, size)
#define UNPOISON(from, size) ASAN_UNPOISON_MEMORY_REGION(from, size)
#else
#define POISON(from, size) (void)0
#define UNPOISON(from, size) (void)0
#endif

#define KEPT 1024 /* dead objects of a kind that stay as they are; memory goes back to no other use, so a handle stays readable */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object living = {.next = &living, .previous = &living};
static struct {
    struct object *first, *last;
    size_t count;
} dead[KINDS];
static _Atomic uint64_t serials;
static uint64_t inherited; /* serial of the last object that a parent process made */
static _Atomic uint32_t calls;

const char *object_kind_name(enum kind kind) {
    static const char *const names[KINDS] = {
        "",      "cl_platform_id", "cl_device_id", "cl_context", "cl_command_queue",
        "cl_event", "cl_mem",      "cl_sampler",   "cl_program", "cl_kernel",
    };
    return names[kind];
}

static uint32_t next_call(void) { return entered.call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1; }

uint32_t count_call(void) {
    uint32_t call = next_call();
    note_place(call);
    return call;
}

uint32_t count_request(void) {
    uint32_t call = next_call();
    note_known_place(call);
    return call;
}

uint32_t last_call(void) { return atomic_load_explicit(&calls, memory_order_relaxed); }

static struct object *take_dead(enum kind kind) {
    struct object *found = dead[kind].first;
    if (dead[kind].count <= KEPT) return NULL;
    dead[kind].first = found->next;
    dead[kind].count--;
    return found;
}

void *object_new(const struct object_class *class, uint32_t users, void *made_at) {
    size_t size = class->size;
    pthread_mutex_lock(&lock);
    struct object *made = take_dead(class->kind);
    pthread_mutex_unlock(&lock);
    if (made) {
        UNPOISON(made + 1, size - sizeof *made);
        memset(made + 1, 0, size - sizeof *made);
    } else if (!(made = calloc(1, size))) {
        return NULL;
    }
    made->dispatch = &adreno_dispatch_table;
    made->class = class;
    made->call = atomic_load_explicit(&calls, memory_order_relaxed);
    made->place = entered.place;
    made->made_at = made_at;
    atomic_store_explicit(&made->serial, atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&made->users, users, memory_order_relaxed);
    atomic_store_explicit(&made->holds, 1, memory_order_relaxed);
    atomic_store_explicit(&made->magic, MAGIC + class->kind, memory_order_release);
    pthread_mutex_lock(&lock);
    made->next = &living;
    made->previous = living.previous;
    made->previous->next = living.previous = made;
    pthread_mutex_unlock(&lock);
    return made;
}

void used_after_release(const struct object *object, enum kind kind) {
    note_misuse((struct misuse){.what = ADRENO_MISUSE_USE_AFTER_RELEASE}, "%s uses a %s that was released; call %u made it",
                called_function(), object_kind_name(kind), object->call);
    tell_misuses();
}

bool object_is(const void *handle, enum kind kind) {
    const struct object *object = handle;
    if (!object || (uintptr_t)object % sizeof(void *)) return false;
    uint32_t magic = atomic_load_explicit(&object->magic, memory_order_acquire);
    if (magic == MAGIC + kind) return true;
    if (magic == MAGIC - kind) used_after_release(object, kind);
    return false;
}

enum kind object_kind(const void *handle) {
    const struct object *object = handle;
    if (!object || (uintptr_t)object % sizeof(void *)) return NO_KIND;
    uint32_t kind = atomic_load_explicit(&object->magic, memory_order_acquire) - MAGIC;
    return kind < KINDS ? (enum kind)kind : NO_KIND;
}

struct context *context_of(const void *handle) {
    const struct object *object = handle;
    return object_kind(handle) != NO_KIND && object->class ? object->class->context(object) : NULL;
}

uint64_t object_serial(const void *object) {
    return atomic_load_explicit(&((const struct object *)object)->serial, memory_order_relaxed);
}

void object_hold(void *object) { atomic_fetch_add_explicit(&((struct object *)object)->holds, 1, memory_order_relaxed); }

void object_drop(void *handle) {
    struct object *object = handle;
    if (atomic_fetch_sub_explicit(&object->holds, 1, memory_order_acq_rel) != 1) return;
    enum kind kind = object->class->kind;
    object->class->end(object);
    pthread_mutex_lock(&lock);
    object->previous->next = object->next;
    object->next->previous = object->previous;
    atomic_store_explicit(&object->magic, MAGIC - kind, memory_order_release);
    object->next = NULL;
    if (dead[kind].count++)
        dead[kind].last->next = object;
    else
        dead[kind].first = object;
    dead[kind].last = object;
    POISON(object + 1, object->class->size - sizeof *object);
    pthread_mutex_unlock(&lock);
}

cl_int object_retain(void *handle, enum kind kind, cl_int error) {
    if (!object_is(handle, kind)) return error;
    struct object *object = handle;
    if (atomic_fetch_add_explicit(&object->users, 1, memory_order_relaxed) == 0) object_hold(object);
    return CL_SUCCESS;
}

cl_int object_release(void *handle, enum kind kind, cl_int error) {
    if (!object_is(handle, kind)) return error;
    struct object *object = handle;
    uint32_t users = atomic_load(&object->users);
    do {
        if (!users) {
            used_after_release(object, kind);
            return error;
        }
    } while (!atomic_compare_exchange_weak(&object->users, &users, users - 1));
    if (users == 1) object_drop(object);
    return CL_SUCCESS;
}

void objects_for_leaks(void (*tell)(const struct object *, enum kind, void *), void *data) {
    pthread_mutex_lock(&lock);
    for (struct object *object = living.next; object != &living; object = object->next)
        if (atomic_load(&object->users) && object_serial(object) > inherited)
            tell(object, atomic_load(&object->magic) - MAGIC, data);
    pthread_mutex_unlock(&lock);
}

void objects_lock(void) { pthread_mutex_lock(&lock); }
void objects_unlock(void) { pthread_mutex_unlock(&lock); }
void objects_after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    inherited = atomic_load(&serials); /* the parent has to release these */
}
