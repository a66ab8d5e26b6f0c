/* A place is sent to the server once, in words, and has a number from then on; the table behind the ring says which call came
   from which place. */
#define _GNU_SOURCE
#include "places.h"
#include "entered.h"
#include "link.h"
#include "python_frames.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <unistd.h>

#define MOST_PLACES 4096 /* of a process: calls from others have none */
#define DEEPEST 24       /* return addresses that are examined */
#define SHOWN 8          /* frames of a place */
#define ROOM 600         /* characters of a frame */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t known[2 * MOST_PLACES]; /* by hash: what was sent; a place's number is that of its slot */
static char *_Atomic first_frames[2 * MOST_PLACES];
static uint32_t known_count;

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15u; }

/* Looks a place up. Returns its number, 0: there is no room for it. fresh: it is new. */
static uint32_t find_number(uint64_t hash, bool *fresh) {
    uint32_t slot = (uint32_t)(hash >> 40) % (2 * MOST_PLACES);
    *fresh = false;
    pthread_mutex_lock(&lock);
    while (known[slot] && known[slot] != hash) slot = (slot + 1) % (2 * MOST_PLACES);
    bool room = known[slot] || known_count < MOST_PLACES;
    if (!known[slot] && room) {
        known[slot] = hash;
        known_count++;
        *fresh = true;
    }
    pthread_mutex_unlock(&lock);
    return room ? slot + 1 : 0;
}

static void tell(struct link *link, uint32_t number, const struct bytes *frames, uint32_t count) {
    struct bytes body = {0};
    put_u32(&body, number);
    put_u32(&body, count);
    put(&body, frames->data, frames->size);
    link_request(link, ADRENO_REQUEST_PLACE, &body, NULL);
}

/* Whether an address is of this library, or of a loader of OpenCL in front of it. */
static bool is_between(const Dl_info *from) {
    static void *own;
    Dl_info here;
    if (!own && dladdr((void *)note_place, &here)) own = here.dli_fbase;
    return from->dli_fbase == own || (from->dli_fname && strstr(from->dli_fname, "libOpenCL.so"));
}

/* Whether an address is of the C library, behind which nothing is the program's own any more: it called main, or began a thread. */
static bool is_libc(const Dl_info *from) {
    static void *libc;
    Dl_info here;
    if (!libc && dladdr((void *)abort, &here)) libc = here.dli_fbase;
    return from->dli_fbase == libc;
}

/* The path of a library, or of the program, whose name may be relative to a folder that it has left. */
static const char *path_of(const Dl_info *from, char *room, size_t size) {
    ssize_t length = *from->dli_fname == '/' ? -1 : readlink("/proc/self/exe", room, size - 1);
    if (length <= 0) return from->dli_fname;
    room[length] = 0;
    return room;
}

static uint32_t put_native_frames(struct bytes *to, void *const *addresses, int count) {
    uint32_t shown = 0;
    for (int i = 0; i < count && shown < SHOWN; i++) {
        char text[ROOM], path[ROOM / 2];
        Dl_info from;
        void *called = (char *)addresses[i] - 1; /* in the call, not behind it */
        if (!dladdr(called, &from) || !from.dli_fname || is_between(&from)) continue;
        if (is_libc(&from)) break;
        const char *symbol = from.dli_sname ? from.dli_sname : "code";
        size_t offset = (size_t)((char *)called - (char *)from.dli_fbase);
        snprintf(text, sizeof text, "%s of %s+0x%zx", symbol, path_of(&from, path, sizeof path), offset);
        put_text(to, text);
        shown++;
        if (!strcmp(symbol, "main")) break;
    }
    return shown;
}

/* The address in the host's program, or in a library of it, that called the driver; a loader may be between the two. */
static const void *find_caller(void) {
    void *addresses[DEEPEST];
    Dl_info from;
    if (CALLER && dladdr(CALLER, &from) && !is_between(&from)) return CALLER;
    int count = backtrace(addresses, DEEPEST);
    for (int i = 0; i < count; i++)
        if (dladdr(addresses[i], &from) && !is_between(&from)) return addresses[i];
    return NULL;
}

/* The place of the call that runs in this thread. */
static uint32_t find_place(struct link *link) {
    struct python_frame python[SHOWN];
    void *addresses[DEEPEST];
    uint32_t count = 0;
    bool fresh;
    uint64_t hash = 0xCBF29CE484222325u;
    int depth = take_python_frames(find_caller(), python, SHOWN), native = 0;
    for (int i = 0; i < depth; i++) hash = mix(mix(hash, (uintptr_t)python[i].code), (uint64_t)python[i].line);
    if (!depth) native = backtrace(addresses, DEEPEST);
    for (int i = 0; i < native; i++) hash = mix(hash, (uintptr_t)addresses[i]);
    uint32_t number = find_number(hash | 1, &fresh);
    struct bytes frames = {0};
    if (fresh) count = depth ? put_python_frames(&frames, python, depth) : put_native_frames(&frames, addresses, native);
    drop_python_frames(python, depth);
    if (count && !frames.failed) {
        struct reader from = {frames.data, frames.data + frames.size, false};
        atomic_store(&first_frames[number - 1], get_text(&from));
    }
    if (fresh && !frames.failed) tell(link, number, &frames, count);
    free(frames.data);
    return number;
}

const char *text_of_place(uint32_t place) {
    return place && place <= 2 * MOST_PLACES ? atomic_load(&first_frames[place - 1]) : NULL;
}

static void write_place(struct link *link, uint32_t call) {
    uint64_t both = call | (uint64_t)entered.place << 32;
    _Atomic uint64_t *table = (_Atomic uint64_t *)(link->page + ADRENO_CALLS_AT);
    atomic_store_explicit(&table[call % ADRENO_CALLS], both, memory_order_release);
}

void note_place(uint32_t call) {
    struct link *link = entered.function ? link_current() : NULL;
    if (!link || link_lost(link)) return;
    if (!entered.place) {
        entered.place = UINT32_MAX; /* what is asked for meanwhile has none */
        entered.place = find_place(link);
    }
    if (entered.place && !link_lost(link)) write_place(link, call);
}

void note_known_place(uint32_t call) {
    struct link *link = link_current();
    if (link && !link_lost(link) && entered.place && entered.place != UINT32_MAX) write_place(link, call);
}

void places_after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    memset(known, 0, sizeof known);
    known_count = 0;
}
