#define _GNU_SOURCE
#include "misuse.h"
#include "schedule.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#define PLACES 512 /* of a process; what comes then is the same again, or one of too many */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t told[PLACES];
static uint32_t told_count;
static struct bytes kept; /* bodies of requests, each behind its length */
static _Atomic bool any;

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 0x100000001B3u;
    return hash;
}

static bool is_new(uint64_t place) {
    for (uint32_t i = 0; i < told_count; i++)
        if (told[i] == place) return false;
    if (told_count == PLACES) return false;
    told[told_count++] = place;
    return true;
}

void note_misuse(struct misuse misuse, const char *format, ...) {
    char text[512];
    va_list given;
    va_start(given, format);
    vsnprintf(text, sizeof text, format, given);
    va_end(given);
    const char *kernel = misuse.kernel ? misuse.kernel : "";
    entered.told = true;
    uint64_t place = hash_text(hash_text(0xCBF29CE484222325u + misuse.what, text), kernel);
    struct bytes body = {0};
    put_u32(&body, misuse.what);
    put_u32(&body, misuse.call ? misuse.call : last_call());
    put_u32(&body, thread_number());
    put_text(&body, kernel);
    put_text(&body, text);
    pthread_mutex_lock(&lock);
    if (!body.failed && is_new(place)) {
        put_block(&kept, body.data, body.size);
        atomic_store(&any, true);
    }
    pthread_mutex_unlock(&lock);
    free(body.data);
}

bool has_misuses(void) { return atomic_load_explicit(&any, memory_order_relaxed); }

void tell_misuses(void) {
    pthread_mutex_lock(&lock);
    struct bytes all = kept;
    kept = (struct bytes){0};
    atomic_store(&any, false);
    pthread_mutex_unlock(&lock);
    struct link *link = link_current();
    struct reader from = {all.data, all.data + all.size, false};
    while (link && from.at < from.end) {
        uint32_t size;
        const void *found = get_block(&from, &size);
        struct bytes body = {0};
        put(&body, found, size);
        if (link_request(link, ADRENO_REQUEST_MISUSE, &body, NULL)) break;
    }
    free(all.data);
}

void misuses_lock(void) { pthread_mutex_lock(&lock); }
void misuses_unlock(void) { pthread_mutex_unlock(&lock); }
void misuses_after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    kept.size = told_count = 0;
    atomic_store(&any, false);
}

const char *called_function(void) { return entered.function ? entered.function : "a call"; }

void describe_address(char *text, size_t room, void *address) {
    Dl_info from;
    *text = 0;
    if (address && dladdr(address, &from) && from.dli_fname)
        snprintf(text, room, "%s of %s+0x%zx", from.dli_sname ? from.dli_sname : "code", from.dli_fname,
                 (size_t)((char *)address - (char *)from.dli_fbase));
}
