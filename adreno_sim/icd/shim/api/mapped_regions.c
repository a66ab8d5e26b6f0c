/* Regions that the host has mapped. One that it maps for writing may not be mapped for writing again. To those that it maps for
   reading only it must not write. Digests of their pieces are taken when the mapping is complete, and compared when the host gives
   the region up. A command on a buffer whose own bytes are mapped may write them: they are compared before it begins, and no more
   after that. Bytes that a second mapping lets the host write are not compared either. */
#define _GNU_SOURCE
#include "../core/misuse.h"
#include "common.h"
#include <sys/uio.h>
#include <unistd.h>

#define PIECE 1024       /* bytes that have a digest */
#define MOST_PIECES 1024 /* of a larger region so many are compared, evenly */

struct pieces {
    size_t all, step, count; /* bytes of the region; every step-th piece is compared; so many are */
};

static struct pieces pieces_of(const struct copy *region) {
    struct pieces found = {.all = region->row * region->rows * region->slices};
    size_t pieces = (found.all + PIECE - 1) / PIECE;
    found.step = (pieces + MOST_PIECES - 1) / MOST_PIECES;
    found.count = found.step ? (pieces + found.step - 1) / found.step : 0;
    return found;
}

/* The bytes of a mapping. */
static struct copy region_of(const struct map *map) {
    if (!is_image(map->memory)) return buffer_copy(map->memory, NO_COPY, map->offset, map->bytes, map->pointer);
    return image_copy(map->memory, NO_COPY, map->pointer, map->region, map->row, map->slice);
}

static const uint8_t *behind(const struct copy *region) {
    return region->host + (region->slices - 1) * region->host_slice + (region->rows - 1) * region->host_row + region->row;
}

static bool overlap(const struct map *one, const struct map *other) {
    struct copy first = region_of(one), second = region_of(other);
    return first.host < behind(&second) && second.host < behind(&first);
}

static bool lies_in(const void *pointer, const uint8_t *memory, uint64_t bytes) {
    return (uint64_t)((const uint8_t *)pointer - memory) < bytes;
}

static bool is_in_heap(const struct map *map) { return lies_in(map->pointer, map->memory->link->heap, map->memory->link->heap_bytes); }

static bool is_there(const uint8_t *at) {
    uint8_t byte;
    return process_vm_readv(getpid(), &(struct iovec){&byte, 1}, 1, &(struct iovec){(void *)at, 1}, 1, 0) == 1;
}

/* Memory of the host's program may be gone. */
static bool is_readable(const struct map *map, const struct copy *region) {
    bool is_ours = is_in_heap(map) || lies_in(map->pointer, map->memory->link->staging, ADRENO_STAGING_BYTES);
    return is_ours || (is_there(region->host) && is_there(behind(region) - 1));
}

static uint64_t digest_piece(const struct copy *region, struct pieces pieces, size_t piece) {
    size_t from = piece * pieces.step * PIECE, left = pieces.all - from < PIECE ? pieces.all - from : PIECE;
    uint64_t mixed = DIGEST_START;
    while (left) {
        size_t row = from / region->row, in_row = from % region->row, size = region->row - in_row;
        if (size > left) size = left;
        const uint8_t *at = region->host + row / region->rows * region->host_slice + row % region->rows * region->host_row + in_row;
        mixed = digest_bytes(mixed, at, size);
        from += size;
        left -= size;
    }
    return mixed;
}

static void forget(struct map *map) {
    free(map->digests);
    map->digests = NULL;
}

static void take_digests(struct map *map) {
    struct copy region = region_of(map);
    struct pieces pieces = pieces_of(&region);
    forget(map);
    if (!is_readable(map, &region) || !(map->digests = malloc((pieces.count + 1) * sizeof *map->digests))) return;
    for (size_t i = 0; i < pieces.count; i++) map->digests[i] = digest_piece(&region, pieces, i);
}

static void tell(const struct map *map, size_t from, size_t to) {
    const struct memory *memory = map->memory;
    bool told = entered.told; /* of the mapping, not of the call that finds it */
    bool image = is_image(memory);
    size_t offset = image ? 0 : map->offset;
    note_misuse((struct misuse){.what = ADRENO_MISUSE_READ_MAP_WRITTEN, .call = map->call},
                "%s finds that the host changed some of bytes %zu to %zu of %s which it mapped for reading only; call %u made it: %s", called_function(),
                offset + from, offset + to, image ? "the region of an image" : "a buffer", memory->head.call,
                is_in_heap(map) ? "here the device has the change, and a phone may lose it"
                                : "here the device does not get the change, and a phone may get it");
    entered.told = told;
}

/* Compares a region with what it was. A change is reported once, though the region may be mapped several times. */
static void check_read_map(struct map *map) {
    if (!map->digests) return;
    struct copy region = region_of(map);
    struct pieces pieces = pieces_of(&region);
    size_t first = 0;
    if (!is_readable(map, &region)) return;
    while (first < pieces.count && map->digests[first] == digest_piece(&region, pieces, first)) first++;
    if (first == pieces.count) return;
    size_t last = first;
    while (pieces.step == 1 && last + 1 < pieces.count && map->digests[last + 1] != digest_piece(&region, pieces, last + 1)) last++;
    size_t to = (last * pieces.step + 1) * PIECE;
    tell(map, first * pieces.step * PIECE, to < pieces.all ? to : pieces.all);
    for (struct map *other = map->memory->link->maps; other; other = other->next_of_link)
        if (other == map || (other->digests && overlap(other, map))) forget(other);
}

static const struct memory *root_of(const struct memory *memory) {
    while (memory->parent) memory = memory->parent;
    return memory;
}

/* Images without memory of the host have other memory for each mapping, so that their texels count. */
static bool show_same_bytes(const struct map *one, const struct map *other) {
    if (!is_image(one->memory) || one->memory != other->memory) return root_of(one->memory) == root_of(other->memory) && overlap(one, other);
    for (unsigned i = 0; i < 3; i++)
        if (one->origin[i] >= other->origin[i] + other->region[i] || other->origin[i] >= one->origin[i] + one->region[i]) return false;
    return true;
}

/* Two mappings of the same bytes for writing: OpenCL forbids the second, but not in shared virtual memory. */
static void check_writing_twice(const struct map *map, const struct event *event) {
    for (const struct map *other = map->memory->link->maps; other && map->flags & MAP_WRITES; other = other->next_of_link) {
        if (other == map || !other->begun || !(other->flags & MAP_WRITES) || !show_same_bytes(other, map)) continue;
        if ((map->memory->flags | other->memory->flags) & CL_MEM_SHARED_VIRTUAL) continue;
        note_misuse((struct misuse){.what = ADRENO_MISUSE_USED_WHILE_MAPPED, .call = event->call},
                    "a mapping for writing begins on bytes of %s that the host has mapped for writing and not unmapped; call %u made it: "
                    "a phone may refuse it with CL_INVALID_OPERATION",
                    is_image(map->memory) ? "an image" : "a buffer", map->memory->head.call);
        return;
    }
}

static struct map *find_map(const struct memory *memory, uint64_t number) {
    struct map *map = memory->maps;
    while (map && map->number != number) map = map->next;
    return map;
}

void list_map(struct map *map) {
    struct link *link = map->memory->link;
    for (struct map *other = link->maps; other; other = other->next_of_link) {
        if (!overlap(other, map)) continue;
        check_read_map(other);
        if (map->flags & MAP_WRITES) forget(other), other->touched = true;
    }
    map->next_of_link = link->maps;
    if (link->maps) link->maps->previous_of_link = map;
    link->maps = map;
}

void unlist_map(struct map *map, bool compares) {
    struct link *link = map->memory->link;
    if (compares) check_read_map(map);
    forget(map);
    *(map->previous_of_link ? &map->previous_of_link->next_of_link : &link->maps) = map->next_of_link;
    if (map->next_of_link) map->next_of_link->previous_of_link = map->previous_of_link;
}

/* A command may read other memory into a region that a program maps once and keeps. The host does not write these bytes itself. */
static void forget_read_into(struct map *maps, const struct copy *copy) {
    if (!copy->host || copy->way == TO_STAGING) return;
    for (struct map *map = maps; map; map = map->next_of_link) {
        struct copy region = region_of(map);
        if (region.host < behind(copy) && copy->host < behind(&region)) forget(map), map->touched = true;
    }
}

void begin_on_maps(const struct memory *memory, const struct event *event) {
    struct map *mapped = event->mapping ? find_map(memory, event->mapping) : NULL;
    if (!event->mapping) forget_read_into(memory->link->maps, &event->copy);
    if (mapped) {
        mapped->begun = true;
        mapped->touched = false;
        count_part_map(mapped->memory, mapped, 1);
        check_writing_twice(mapped, event);
    }
    if (is_of_mapping(event->type)) return;
    switch (event->type) {
    case CL_COMMAND_READ_BUFFER:
    case CL_COMMAND_READ_BUFFER_RECT:
    case CL_COMMAND_READ_IMAGE: return; /* the device's memory stays what it is */
    }
    for (struct map *map = memory->link->maps; map; map = map->next_of_link) {
        if (map->touched || !is_in_heap(map) || root_of(map->memory) != root_of(memory)) continue;
        check_read_map(map);
        forget(map);
        map->touched = true;
    }
}

/* Whether a command that has begun, and may not be complete, uses memory that is a part of `root`. */
static bool is_in_use(const struct link *link, const struct memory *root) {
    for (uint64_t number = link->pumped + 1; number <= link->pushed; number++) {
        const struct event *event = link->running[number % ADRENO_RESULTS];
        for (uint32_t i = 0; event && i < event->held_count; i++)
            if (event->held[i]->class->kind == MEMORY && root_of((const struct memory *)event->held[i]) == root) return true;
    }
    return false;
}

void complete_map(const struct object *object, const struct event *event) {
    const struct memory *memory = (const struct memory *)object;
    struct link *link = memory->link;
    struct map *map = event->mapping ? find_map(memory, event->mapping) : NULL;
    if (!map) return;
    map->call = event->call;
    bool known = !(map->flags & MAP_WRITES) && !map->touched && !(event->by_host && is_in_use(link, root_of(memory)));
    for (struct map *other = link->maps; other; other = other->next_of_link) {
        if (other == map || !overlap(other, map)) continue;
        if (other->digests) take_digests(other); /* the mapping may have brought other bytes */
        known = known && !(other->flags & MAP_WRITES);
    }
    if (known) take_digests(map);
}
