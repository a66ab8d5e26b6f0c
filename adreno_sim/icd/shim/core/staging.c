/* Staging: ranges that are taken and given back, the first that fits, joined with their neighbours when they come back. */
#include "schedule.h"

#define GRAIN 64 /* bytes: no two ranges share a cache line */

static bool insert(struct link *link, size_t place, struct range made) {
    if (link->free_count == link->free_room) {
        size_t room = link->free_room * 2 + 16;
        struct range *grown = realloc(link->free_staging, room * sizeof *grown);
        if (!grown) return false; /* the range is lost, nothing else */
        link->free_staging = grown;
        link->free_room = room;
    }
    memmove(link->free_staging + place + 1, link->free_staging + place, (link->free_count - place) * sizeof made);
    link->free_staging[place] = made;
    link->free_count++;
    return true;
}

static void remove_at(struct link *link, size_t place) {
    link->free_count--;
    memmove(link->free_staging + place, link->free_staging + place + 1, (link->free_count - place) * sizeof *link->free_staging);
}

static uint64_t rounded(uint64_t bytes) { return (bytes + GRAIN - 1) / GRAIN * GRAIN; }

bool staging_take(struct link *link, uint64_t bytes, uint64_t *at) {
    if (bytes > ADRENO_STAGING_BYTES) return false;
    if (!link->free_room && !insert(link, 0, (struct range){0, ADRENO_STAGING_BYTES})) return false;
    bytes = rounded(bytes);
    for (size_t i = 0; i < link->free_count; i++) {
        struct range *range = &link->free_staging[i];
        if (range->bytes < bytes) continue;
        *at = range->at;
        range->at += bytes;
        range->bytes -= bytes;
        if (!range->bytes) remove_at(link, i);
        return true;
    }
    return false;
}

void staging_give(struct link *link, uint64_t at, uint64_t bytes) {
    bytes = rounded(bytes);
    if (!bytes) return;
    size_t place = 0;
    while (place < link->free_count && link->free_staging[place].at < at) place++;
    struct range *next = place < link->free_count ? &link->free_staging[place] : NULL;
    struct range *last = place ? &link->free_staging[place - 1] : NULL;
    bool joins_next = next && at + bytes == next->at, joins_last = last && last->at + last->bytes == at;
    if (joins_last) {
        last->bytes += bytes + (joins_next ? next->bytes : 0);
        if (joins_next) remove_at(link, place);
    } else if (joins_next) {
        next->at = at;
        next->bytes += bytes;
    } else {
        insert(link, place, (struct range){at, bytes});
    }
}
