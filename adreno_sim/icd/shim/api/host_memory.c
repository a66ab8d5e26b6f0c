/* Memory of CL_MEM_USE_HOST_PTR: whether the host changed it without a mapping. A device may work on a copy of its own, so such a
   change may be seen or not. Digests of its blocks are kept; those of a mapped block are unknown until it is unmapped. */
#include "../core/misuse.h"
#include "common.h"

#define BLOCK 4096
#define UNKNOWN 0

/* The buffer to which a sub-buffer belongs, and the byte in it. */
static struct memory *whole_of(struct memory *memory, size_t *offset) {
    for (; memory->parent; memory = memory->parent) *offset += memory->offset;
    return memory;
}

static uint64_t digest_block(const struct memory *whole, size_t block) {
    size_t at = block * BLOCK, left = whole->size - at;
    return digest_bytes(DIGEST_START, (const uint8_t *)whole->host + at, left < BLOCK ? left : BLOCK) | 1;
}

void host_memory_known(struct memory *memory, size_t offset, size_t bytes) {
    struct memory *whole = whole_of(memory, &offset);
    if (!whole->host || is_image(whole) || !bytes) return;
    state_lock(whole->link);
    if (!whole->digests) whole->digests = calloc((whole->size + BLOCK - 1) / BLOCK, sizeof *whole->digests);
    bool parts = atomic_load(&whole->children); /* whose mappings are theirs */
    for (size_t i = offset / BLOCK; whole->digests && i <= (offset + bytes - 1) / BLOCK; i++)
        whole->digests[i] = parts ? UNKNOWN : digest_block(whole, i);
    for (const struct map *map = whole->maps; whole->digests && map; map = map->next)
        for (size_t i = map->offset / BLOCK; i <= (map->offset + map->bytes - 1) / BLOCK; i++) whole->digests[i] = UNKNOWN;
    state_unlock(whole->link);
}

void host_memory_unknown(struct memory *memory, size_t offset, size_t bytes) {
    struct memory *whole = whole_of(memory, &offset);
    state_lock(whole->link);
    for (size_t i = offset / BLOCK; bytes && whole->digests && i <= (offset + bytes - 1) / BLOCK; i++)
        whole->digests[i] = UNKNOWN;
    state_unlock(whole->link);
}

void check_host_memory(struct memory *memory, size_t offset, size_t bytes) {
    struct memory *whole = whole_of(memory, &offset);
    state_lock(whole->link);
    for (size_t i = offset / BLOCK; bytes && whole->digests && i <= (offset + bytes - 1) / BLOCK; i++)
        if (whole->digests[i] != UNKNOWN && whole->digests[i] != digest_block(whole, i)) {
            note_misuse((struct misuse){.what = ADRENO_MISUSE_HOST_MEMORY_CHANGED},
                        "%s finds bytes %zu to %zu of the host's memory of a buffer changed since it was made or unmapped; call %u "
                        "made it with CL_MEM_USE_HOST_PTR",
                        called_function(), i * BLOCK, (i + 1) * BLOCK < whole->size ? (i + 1) * BLOCK : whole->size,
                        whole->head.call);
            break;
        }
    state_unlock(whole->link);
}

void host_memory_used(struct memory *memory, const void *host, size_t bytes) {
    size_t offset = 0;
    struct memory *whole = whole_of(memory, &offset);
    const uint8_t *own = whole->host, *at = host;
    if (own && !is_image(whole) && at < own + whole->size && own < at + bytes) host_memory_unknown(whole, 0, whole->size);
}
