/* Mapping: a buffer's bytes in the heap themselves, an image's texels in staging, the host's own memory where it was given. */
#include "../core/misuse.h"
#include "common.h"

/* A transfer, and that the host may only write what it maps. */
struct map_transfer {
    struct transfer transfer;
    uint64_t may_write;
};

cl_int check_map_flags(cl_bitfield flags) {
    cl_bitfield others = flags & ~(cl_bitfield)(CL_MAP_READ | MAP_WRITES);
    if (others)
        return refuse_call(CL_INVALID_VALUE, NULL, "map flags 0x%llx: 0x%llx is not one of CL_MAP_READ (1), CL_MAP_WRITE (2) and "
                                                   "CL_MAP_WRITE_INVALIDATE_REGION (4)", (unsigned long long)flags, (unsigned long long)others);
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION && flags & (CL_MAP_READ | CL_MAP_WRITE))
        return refuse_call(CL_INVALID_VALUE, NULL, "map flags 0x%llx: OpenCL expects CL_MAP_WRITE_INVALIDATE_REGION without CL_MAP_READ and "
                                                   "CL_MAP_WRITE", (unsigned long long)flags);
    return CL_SUCCESS;
}

static cl_int check_map(const struct queue *queue, const struct memory *memory, bool image, cl_bitfield flags) {
    cl_int wrong = check_map_flags(flags);
    if (wrong) return wrong;
    cl_bitfield forbidden = CL_MEM_HOST_NO_ACCESS;
    if (flags & CL_MAP_READ) forbidden |= CL_MEM_HOST_WRITE_ONLY;
    if (flags & MAP_WRITES) forbidden |= CL_MEM_HOST_READ_ONLY;
    return check_memory(queue, memory, image, forbidden);
}

void count_part_map(struct memory *memory, const struct map *map, int by) {
    for (struct memory *whole = memory->parent; whole && map->begun && map->flags & MAP_WRITES; whole = whole->parent) whole->part_maps += by;
}

uint64_t number_map(void) {
    static _Atomic uint64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

struct map *add_map(struct memory *memory, const struct map *from) {
    struct map *made = malloc(sizeof *made);
    if (!made) return NULL;
    *made = *from;
    made->memory = memory;
    state_lock(memory->link);
    list_map(made);
    made->next = memory->maps;
    memory->maps = made;
    memory->map_count++;
    state_unlock(memory->link);
    return made;
}

struct map *take_map(struct memory *memory, const void *pointer) {
    state_lock(memory->link);
    struct map **at = &memory->maps;
    while (*at && (*at)->pointer != pointer) at = &(*at)->next;
    struct map *found = *at;
    if (found) {
        unlist_map(found, true);
        *at = found->next;
        memory->map_count--;
        count_part_map(memory, found, -1);
    }
    state_unlock(memory->link);
    return found;
}

void *API(clEnqueueMapBuffer)(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_bitfield flags, size_t offset,
                              size_t bytes, WAITS, cl_int *error) {
    cl_int wrong = check_enqueue(queue, wait_count, waits);
    if (!wrong) wrong = check_map(queue, buffer, false, flags);
    if (wrong) return fail(error, wrong);
    if (!bytes || !inside(offset, bytes, buffer->size)) return fail(error, refuse_range(bytes, offset, buffer->size));
    struct map map = {.flags = flags ? flags : CL_MAP_READ | CL_MAP_WRITE, .offset = offset, .bytes = bytes};
    map.number = number_map();
    map.pointer = buffer->host ? (uint8_t *)buffer->host + offset : buffer->link->heap + buffer->place + offset;
    struct object *held[] = {&buffer->head};
    struct map_transfer body = {buffer_transfer(buffer, offset, bytes), 1};
    struct command command = {.queue = queue, .type = CL_COMMAND_MAP_BUFFER, .held = held, .held_count = 1};
    command.mapping = map.number;
    uint64_t range[4] = {buffer->number, offset, bytes, 1};
    uint32_t range_size = map.flags & MAP_WRITES ? sizeof range : ADRENO_SIZE_RANGE;
    command.kind = map.flags & CL_MAP_READ ? ADRENO_COMMAND_HOST_READ : ADRENO_COMMAND_NOTHING;
    command.body = range;
    command.body_size = map.flags & CL_MAP_READ ? range_size : 0;
    check_host_memory(buffer, offset, bytes);
    host_memory_unknown(buffer, offset, bytes);
    if (!add_map(buffer, &map)) return fail(error, CL_OUT_OF_HOST_MEMORY);
    if (buffer->host && !(flags & CL_MAP_WRITE_INVALIDATE_REGION)) {
        command.kind = ADRENO_COMMAND_READ;
        command.body = &body;
        command.body_size = map.flags & MAP_WRITES ? sizeof body : sizeof body.transfer;
        command.copy = buffer_copy(buffer, FROM_STAGING, offset, bytes, map.pointer);
        wrong = enqueue(&command, wait_count, waits, event, blocking);
    } else if (blocking) {
        struct event *made = begin_by_host(&command, wait_count, waits, &wrong);
        if (made) end_by_host(made, command.kind, range, command.body_size, event);
    } else {
        wrong = enqueue(&command, wait_count, waits, event, false);
    }
    if (!wrong) {
        share_mapped(buffer, true);
        return succeed(error, map.pointer);
    }
    free(take_map(buffer, map.pointer));
    return fail(error, wrong);
}

static bool take_staging(struct link *link, struct range *range) {
    state_lock(link);
    bool taken = staging_take(link, range->bytes, &range->at);
    if (!taken) {
        drain_locked(link);
        taken = staging_take(link, range->bytes, &range->at);
    }
    state_unlock(link);
    return taken;
}

static void give_staging(struct link *link, const struct range *range) {
    state_lock(link);
    staging_give(link, range->at, range->bytes);
    state_unlock(link);
}

void *API(clEnqueueMapImage)(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_bitfield flags, const size_t *origin,
                             const size_t *region, size_t *row_pitch, size_t *slice_pitch, WAITS, cl_int *error) {
    cl_int wrong = check_enqueue(queue, wait_count, waits);
    if (!wrong) wrong = check_map(queue, image, true, flags);
    if (!wrong) wrong = check_region(image, origin, region);
    if (wrong) return fail(error, wrong);
    bool is_1d_array = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    bool has_slices = is_1d_array || image->type == CL_MEM_OBJECT_IMAGE3D || image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    if (!row_pitch || (has_slices && !slice_pitch))
        return fail(error, refuse_call(CL_INVALID_VALUE, NULL, "%s is NULL: OpenCL expects a place for it",
                                       row_pitch ? "image_slice_pitch" : "image_row_pitch"));
    struct link *link = image->link;
    struct map map = {.flags = flags ? flags : CL_MAP_READ | CL_MAP_WRITE};
    memcpy(map.origin, origin, sizeof map.origin);
    memcpy(map.region, region, sizeof map.region);
    size_t row = image->host ? image->host_row : region[0] * image->texel;
    size_t slice = image->host ? image->host_slice : row * region[1];
    map.row = row;
    map.slice = slice;
    struct map_transfer body = {image_transfer(image, origin, region), 1};
    uint32_t body_size = map.flags & MAP_WRITES ? sizeof body : sizeof body.transfer;
    struct object *held[] = {&image->head};
    struct command command = {.queue = queue, .type = CL_COMMAND_MAP_IMAGE, .held = held, .held_count = 1};
    command.mapping = map.number = number_map();
    command.kind = flags & CL_MAP_WRITE_INVALIDATE_REGION ? ADRENO_COMMAND_NOTHING : ADRENO_COMMAND_READ;
    command.body = &body;
    command.body_size = command.kind == ADRENO_COMMAND_READ ? body_size : 0;
    if (image->host) {
        map.pointer = (uint8_t *)image->host + origin[2] * slice + origin[1] * row + origin[0] * image->texel;
        if (command.body_size) command.copy = image_copy(image, FROM_STAGING, map.pointer, region, row, slice);
    } else {
        map.staging.bytes = slice * region[2];
        if (!take_staging(link, &map.staging)) return fail(error, CL_MAP_FAILURE);
        map.pointer = link->staging + map.staging.at;
        body.transfer.staging = map.staging.at;
    }
    struct map *made = add_map(image, &map);
    wrong = made ? enqueue(&command, wait_count, waits, event, blocking) : CL_OUT_OF_HOST_MEMORY;
    if (wrong) {
        if (made) free(take_map(image, map.pointer));
        give_staging(link, &map.staging);
        return fail(error, wrong);
    }
    *row_pitch = row;
    if (slice_pitch) *slice_pitch = is_1d_array ? row : has_slices ? slice : 0;
    return succeed(error, map.pointer);
}

static const struct map *writing_map(const struct memory *memory) {
    for (const struct map *map = memory->maps; map; map = map->next)
        if (map->begun && map->flags & MAP_WRITES) return map;
    return memory->parent ? writing_map(memory->parent) : NULL;
}

bool is_of_mapping(cl_uint type) {
    switch (type) {
    case CL_COMMAND_MAP_BUFFER:
    case CL_COMMAND_MAP_IMAGE:
    case CL_COMMAND_UNMAP_MEM_OBJECT:
    case CL_COMMAND_SVM_MAP:
    case CL_COMMAND_SVM_UNMAP:
    case CL_COMMAND_SVM_MIGRATE_MEM:
    case CL_COMMAND_MIGRATE_MEM_OBJECTS: return true;
    default: return false;
    }
}

void check_mapped(const struct object *object, const struct event *event) {
    begin_on_maps((const struct memory *)object, event);
    if (is_of_mapping(event->type)) return;
    const struct memory *memory = (const struct memory *)object;
    bool whole = writing_map(memory);
    if (!whole && !memory->part_maps) return;
    struct misuse misuse = {.what = ADRENO_MISUSE_USED_WHILE_MAPPED, .call = event->call, .kernel = event->kernel};
    note_misuse(misuse, "%s begins on %s that the host has mapped for writing%s and not unmapped; call %u made it",
                event->kernel ? "a launch" : "a transfer", is_image(memory) ? "an image" : "a buffer",
                whole ? "" : " in part (a sub-buffer or an image over it)", memory->head.call);
}

cl_int API(clEnqueueUnmapMemObject)(cl_command_queue queue, cl_mem memory, void *mapped, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    if (!memory_lives(memory)) return CL_INVALID_MEM_OBJECT;
    if (memory->context != queue->context) return CL_INVALID_CONTEXT;
    struct map *map = take_map(memory, mapped);
    if (!map) return refuse_call(CL_INVALID_VALUE, NULL, "the memory is not mapped at this address, or is unmapped already");
    if (!is_image(memory)) share_mapped(memory, false);
    bool image = is_image(memory), writes = map->flags & MAP_WRITES;
    struct object *held[] = {&memory->head};
    struct command command = {.queue = queue, .type = CL_COMMAND_UNMAP_MEM_OBJECT, .held = held, .held_count = 1};
    struct transfer body = image ? image_transfer(memory, map->origin, map->region)
                                 : buffer_transfer(memory, map->offset, map->bytes);
    uint64_t written[3] = {memory->number, map->offset, map->bytes};
    if (writes && (image || memory->host)) {
        command.kind = ADRENO_COMMAND_WRITE;
        command.body = &body;
        command.body_size = sizeof body;
        if (!memory->host)
            body.staging = map->staging.at;
        else if (image)
            command.copy = image_copy(memory, TO_STAGING, mapped, map->region, memory->host_row, memory->host_slice);
        else
            command.copy = buffer_copy(memory, TO_STAGING, map->offset, map->bytes, mapped);
    } else if (writes) {
        command.kind = ADRENO_COMMAND_WRITTEN;
        command.body = written;
        command.body_size = sizeof written;
    } else {
        command.kind = ADRENO_COMMAND_NOTHING;
    }
    if (!image) host_memory_known(memory, map->offset, map->bytes);
    if (map->staging.bytes) { /* given back when the command is complete */
        command.copy.at = map->staging.at;
        command.copy.bytes = map->staging.bytes;
    }
    free(map);
    return enqueue(&command, wait_count, waits, event, false);
}
