/* Commands on shared virtual memory: copies and fills by address, mappings, and migration. */
#include "common.h"

static cl_int check(const struct queue *queue, cl_uint wait_count, const cl_event *waits) {
    cl_int error = check_enqueue((struct queue *)queue, wait_count, waits);
    if (error) return error;
    return shared_capabilities(queue->context->link) ? CL_SUCCESS : CL_INVALID_OPERATION;
}

/* An address outside of shared virtual memory belongs to the host. One whose memory was freed is reported. */
static struct memory *find(const struct queue *queue, const void *pointer) {
    struct memory *found = hold_shared(queue->context, pointer);
    if (!found) check_freed(queue->context->link, pointer);
    return found;
}

static void drop(struct memory *memory) {
    if (memory) object_drop(memory);
}

static cl_int copy_on_host(cl_command_queue queue, void *target, const void *source, size_t bytes, WAITS) {
    struct command command = {.queue = queue, .type = CL_COMMAND_SVM_MEMCPY, .kind = ADRENO_COMMAND_NOTHING};
    cl_int error;
    struct event *made = begin_by_host(&command, wait_count, waits, &error);
    if (!made) return error;
    copy_to_host(queue->context->link, target, source, bytes);
    end_by_host(made, ADRENO_COMMAND_NOTHING, NULL, 0, event);
    return CL_SUCCESS;
}

static cl_int copy_between(cl_command_queue queue, cl_bool blocking, struct memory *to, void *target, struct memory *from,
                           const void *source, size_t bytes, WAITS) {
    const cl_uint type = CL_COMMAND_SVM_MEMCPY;
    if (!to && !from) return copy_on_host(queue, target, source, bytes, WAITED);
    if (!to) return transfer_buffer(queue, type, from, false, blocking, shared_offset(from, source), bytes, target, WAITED);
    if (!from) return transfer_buffer(queue, type, to, true, blocking, shared_offset(to, target), bytes, source, WAITED);
    cl_event made = NULL;
    cl_int error = copy_buffer(queue, type, from, to, shared_offset(from, source), shared_offset(to, target), bytes, wait_count,
                               waits, blocking && !event ? &made : event);
    if (error || !blocking) return error;
    cl_int status = wait_event(made ? made : *event);
    if (made) object_release(made, EVENT, 0);
    return status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

cl_int API(clEnqueueSVMMemcpy)(cl_command_queue queue, cl_bool blocking, void *target, const void *source, size_t bytes, WAITS) {
    cl_int error = check(queue, wait_count, waits);
    if (error) return error;
    if (!target || !source) return CL_INVALID_VALUE;
    const uint8_t *into = target, *from = source;
    if (from < into + bytes && into < from + bytes) return CL_MEM_COPY_OVERLAP;
    struct memory *to = find(queue, target), *origin = find(queue, source);
    error = copy_between(queue, blocking, to, target, origin, source, bytes, WAITED);
    drop(to);
    drop(origin);
    return error;
}

cl_int API(clEnqueueSVMMemFill)(cl_command_queue queue, void *target, const void *pattern, size_t pattern_bytes, size_t bytes,
                                WAITS) {
    cl_int error = check(queue, wait_count, waits);
    if (error) return error;
    bool whole = pattern_bytes && pattern_bytes <= 128 && !(pattern_bytes & (pattern_bytes - 1));
    if (!target || !pattern || !whole || (uintptr_t)target % pattern_bytes || bytes % pattern_bytes) return CL_INVALID_VALUE;
    struct memory *memory = find(queue, target);
    if (!memory) return CL_INVALID_VALUE;
    size_t offset = shared_offset(memory, target);
    error = fill_buffer(queue, CL_COMMAND_SVM_MEMFILL, memory, pattern, pattern_bytes, offset, bytes, WAITED);
    drop(memory);
    return error;
}

void share_mapped(struct memory *memory, bool is_mapped) {
    struct memory *whole = shared_under(memory);
    if (!whole || is_fine(whole)) return;
    state_lock(whole->link);
    whole->shared_maps += is_mapped ? 1 : -1;
    uint64_t body[2] = {whole->number, whole->shared_maps != 0};
    state_unlock(whole->link);
    enqueue_silently(whole->link, ADRENO_COMMAND_SHARE, body, sizeof body);
}

static cl_int map_shared(cl_command_queue queue, cl_bool blocking, struct memory *memory, const struct map *map, WAITS) {
    struct object *held[] = {&memory->head};
    uint64_t range[4] = {memory->number, map->offset, map->bytes, 1};
    struct command command = {.queue = queue, .type = CL_COMMAND_SVM_MAP, .held = held, .held_count = 1};
    bool reads = map->flags & CL_MAP_READ && !is_fine(memory);
    command.kind = reads ? ADRENO_COMMAND_HOST_READ : ADRENO_COMMAND_NOTHING;
    command.body = range;
    command.mapping = map->number;
    command.body_size = !reads ? 0 : map->flags & MAP_WRITES ? sizeof range : ADRENO_SIZE_RANGE;
    if (!is_fine(memory) && !add_map(memory, map)) return CL_OUT_OF_HOST_MEMORY;
    cl_int error = enqueue(&command, wait_count, waits, event, blocking);
    if (error && !is_fine(memory))
        free(take_map(memory, map->pointer));
    else if (!error)
        share_mapped(memory, true);
    return error;
}

cl_int API(clEnqueueSVMMap)(cl_command_queue queue, cl_bool blocking, cl_bitfield flags, void *pointer, size_t bytes, WAITS) {
    cl_int error = check(queue, wait_count, waits);
    if (error) return error;
    if ((error = check_map_flags(flags))) return error;
    if (!pointer || !bytes)
        return refuse_call(CL_INVALID_VALUE, NULL, "%zu bytes%s: expected 1 or more of memory", bytes, pointer ? "" : " at NULL");
    struct memory *memory = find(queue, pointer);
    if (!memory) return refuse_call(CL_INVALID_VALUE, NULL, "the pointer is not in an allocation of clSVMAlloc");
    struct map map = {.pointer = pointer, .flags = flags ? flags : CL_MAP_READ | CL_MAP_WRITE, .bytes = bytes, .number = number_map()};
    map.offset = shared_offset(memory, pointer);
    bool fits = shared_has(memory, pointer, bytes);
    error = fits ? map_shared(queue, blocking, memory, &map, WAITED) : CL_INVALID_VALUE;
    drop(memory);
    return error;
}

cl_int API(clEnqueueSVMUnmap)(cl_command_queue queue, void *pointer, WAITS) {
    cl_int error = check(queue, wait_count, waits);
    if (error) return error;
    struct memory *memory = pointer ? find(queue, pointer) : NULL;
    if (!memory) return CL_INVALID_VALUE;
    struct map *map = is_fine(memory) ? NULL : take_map(memory, pointer);
    if (!map && !is_fine(memory)) {
        drop(memory);
        return CL_INVALID_VALUE;
    }
    struct object *held[] = {&memory->head};
    struct command command = {.queue = queue, .type = CL_COMMAND_SVM_UNMAP, .kind = ADRENO_COMMAND_NOTHING};
    command.held = held;
    command.held_count = 1;
    uint64_t written[3] = {memory->number, map ? map->offset : 0, map ? map->bytes : 0};
    if (map && map->flags & MAP_WRITES) {
        command.kind = ADRENO_COMMAND_WRITTEN;
        command.body = written;
        command.body_size = sizeof written;
    }
    free(map);
    share_mapped(memory, false);
    error = enqueue(&command, wait_count, waits, event, false);
    drop(memory);
    return error;
}

cl_int API(clEnqueueSVMMigrateMem)(cl_command_queue queue, cl_uint count, const void **pointers, const size_t *sizes,
                                   cl_bitfield flags, WAITS) {
    cl_int error = check(queue, wait_count, waits);
    if (error) return error;
    if ((error = check_migration(count, pointers, flags))) return error;
    for (cl_uint i = 0; i < count; i++) {
        struct memory *memory = find(queue, pointers[i]);
        if (!memory)
            return refuse_call(CL_INVALID_VALUE, NULL, "pointer %u of the list is not in an allocation of clSVMAlloc", i);
        size_t size = sizes ? sizes[i] : 0, all = memory->size;
        bool fits = shared_has(memory, pointers[i], size);
        drop(memory);
        if (!fits)
            return refuse_call(CL_INVALID_VALUE, NULL, "%zu bytes from pointer %u of the list: the allocation has %zu, and ends before", size, i,
                               all);
    }
    struct command command = {.queue = queue, .type = CL_COMMAND_SVM_MIGRATE_MEM, .kind = ADRENO_COMMAND_NOTHING};
    return enqueue(&command, wait_count, waits, event, false);
}
