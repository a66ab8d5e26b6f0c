/* Bytes of requests and replies: written with room that grows, read with bounds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    uint8_t *data;
    size_t size, room;
    bool failed; /* no memory: what follows is not written */
};

static inline void put(struct bytes *to, const void *data, size_t size) {
    if (to->failed) return;
    if (to->size + size > to->room) {
        size_t room = (to->size + size) * 2 + 64;
        uint8_t *grown = realloc(to->data, room);
        if (!grown) {
            to->failed = true;
            return;
        }
        to->data = grown;
        to->room = room;
    }
    if (size) memcpy(to->data + to->size, data, size);
    to->size += size;
}

static inline void put_u32(struct bytes *to, uint32_t number) { put(to, &number, sizeof number); }
static inline void put_u64(struct bytes *to, uint64_t number) { put(to, &number, sizeof number); }
static inline void put_block(struct bytes *to, const void *data, size_t size) {
    put_u32(to, (uint32_t)size);
    put(to, data, size);
}
static inline void put_text(struct bytes *to, const char *text) { put_block(to, text, strlen(text)); }
static inline void put_padding(struct bytes *to) {
    static const uint8_t zeros[8];
    put(to, zeros, -to->size & 7);
}

struct reader {
    const uint8_t *at, *end;
    bool failed; /* it ended too early: numbers that are read from then on are 0, blocks empty */
};

static inline const void *get(struct reader *from, size_t size) {
    if (from->failed || (size_t)(from->end - from->at) < size) {
        from->failed = true;
        return NULL;
    }
    const void *found = from->at;
    from->at += size;
    return found;
}

static inline uint32_t get_u32(struct reader *from) {
    uint32_t number = 0;
    const void *found = get(from, sizeof number);
    if (found) memcpy(&number, found, sizeof number);
    return number;
}

static inline uint64_t get_u64(struct reader *from) {
    uint64_t number = 0;
    const void *found = get(from, sizeof number);
    if (found) memcpy(&number, found, sizeof number);
    return number;
}

static inline const void *get_block(struct reader *from, uint32_t *size) {
    *size = get_u32(from);
    const void *found = get(from, *size);
    if (!found) *size = 0;
    return found;
}

/* Returns a copy that ends with 0; the caller frees it. NULL: no memory. */
static inline char *get_text(struct reader *from) {
    uint32_t size;
    const void *found = get_block(from, &size);
    char *text = malloc((size_t)size + 1);
    if (text) {
        if (size) memcpy(text, found, size);
        text[size] = 0;
    }
    return text;
}
