/* Copies and fills that stay on the device, and migration. */
#include "common.h"

struct copy_body {
    uint64_t source, target, region[3], source_origin[3], source_row, source_slice, target_origin[3], target_row, target_slice;
};
_Static_assert(sizeof(struct copy_body) == ADRENO_SIZE_COPY_BODY, "COPY_BODY is without padding");

static cl_int copy(cl_command_queue queue, cl_uint type, cl_mem source, cl_mem target, struct copy_body *body, WAITS) {
    struct object *held[] = {&source->head, &target->head};
    struct command command = {
        .queue = queue, .type = type, .kind = ADRENO_COMMAND_COPY, .body = body, .body_size = sizeof *body,
        .held = held, .held_count = 2,
    };
    body->source = source->number;
    body->target = target->number;
    return enqueue(&command, wait_count, waits, event, false);
}

static cl_int check_both(cl_command_queue queue, cl_mem source, bool source_image, cl_mem target, bool target_image,
                         cl_uint wait_count, const cl_event *waits) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (!error) error = check_memory(queue, source, source_image, 0);
    return error ? error : check_memory(queue, target, target_image, 0);
}

/* Where a buffer begins, as an address that sub-buffers of one buffer share. */
static uint64_t base(const struct memory *buffer) { return buffer->place; }

cl_int copy_buffer(cl_command_queue queue, cl_uint type, cl_mem source, cl_mem target, size_t source_offset, size_t target_offset,
                   size_t bytes, WAITS) {
    if (!inside(source_offset, bytes, source->size)) return refuse_range(bytes, source_offset, source->size);
    if (!inside(target_offset, bytes, target->size)) return refuse_range(bytes, target_offset, target->size);
    uint64_t from = base(source) + source_offset, to = base(target) + target_offset;
    if (from < to + bytes && to < from + bytes) return CL_MEM_COPY_OVERLAP;
    struct copy_body body = {
        .region = {bytes, 1, 1}, .source_origin = {source_offset}, .target_origin = {target_offset},
        .source_row = bytes, .source_slice = bytes, .target_row = bytes, .target_slice = bytes,
    };
    if (bytes) return copy(queue, type, source, target, &body, WAITED);
    struct command nothing = {.queue = queue, .type = type, .kind = ADRENO_COMMAND_NOTHING};
    return enqueue(&nothing, wait_count, waits, event, false);
}

cl_int API(clEnqueueCopyBuffer)(cl_command_queue queue, cl_mem source, cl_mem target, size_t source_offset, size_t target_offset,
                                size_t bytes, WAITS) {
    cl_int error = check_both(queue, source, false, target, false, wait_count, waits);
    if (error) return error;
    return copy_buffer(queue, CL_COMMAND_COPY_BUFFER, source, target, source_offset, target_offset, bytes, WAITED);
}

/* Whether two boxes of the same pitches share a byte, `distance` being from one to the other. */
static bool boxes_meet(uint64_t distance, const size_t *region, size_t row, size_t slice) {
    uint64_t z = distance / slice, y = distance % slice / row, x = distance % row, rows = slice / row;
    for (unsigned wraps_row = 0; wraps_row < 2; wraps_row++)
        for (unsigned wraps_slice = 0; wraps_slice < 2; wraps_slice++) {
            uint64_t along = wraps_row ? row - x : x, down = y + wraps_row;
            uint64_t deep = z + wraps_slice;
            down = wraps_slice ? (rows > down ? rows - down : down - rows) : down;
            if (along < region[0] && down < region[1] && deep < region[2]) return true;
        }
    return false;
}

cl_int API(clEnqueueCopyBufferRect)(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,
                                    const size_t *target_origin, const size_t *region, size_t source_row_pitch,
                                    size_t source_slice_pitch, size_t target_row_pitch, size_t target_slice_pitch, WAITS) {
    cl_int error = check_both(queue, source, false, target, false, wait_count, waits);
    if (error) return error;
    if (!source_origin || !target_origin || !region || !region[0] || !region[1] || !region[2]) return CL_INVALID_VALUE;
    if (settle_box(source_origin, region, &source_row_pitch, &source_slice_pitch, source->size) ||
        settle_box(target_origin, region, &target_row_pitch, &target_slice_pitch, target->size))
        return CL_INVALID_VALUE;
    struct copy_body body = {
        .source_row = source_row_pitch, .source_slice = source_slice_pitch,
        .target_row = target_row_pitch, .target_slice = target_slice_pitch,
    };
    memcpy(body.region, region, sizeof body.region);
    memcpy(body.source_origin, source_origin, sizeof body.source_origin);
    memcpy(body.target_origin, target_origin, sizeof body.target_origin);
    bool same = source == target;
    if (same && (source_row_pitch != target_row_pitch || source_slice_pitch != target_slice_pitch)) return CL_INVALID_VALUE;
    if (same || (source->parent && source->parent == target->parent && source_row_pitch == target_row_pitch &&
                 source_slice_pitch == target_slice_pitch)) {
        size_t row = source_row_pitch, slice = source_slice_pitch;
        uint64_t from = base(source) + source_origin[2] * slice + source_origin[1] * row + source_origin[0];
        uint64_t to = base(target) + target_origin[2] * slice + target_origin[1] * row + target_origin[0];
        if (boxes_meet(from < to ? to - from : from - to, region, row, slice)) return CL_MEM_COPY_OVERLAP;
    }
    return copy(queue, CL_COMMAND_COPY_BUFFER_RECT, source, target, &body, WAITED);
}

cl_int API(clEnqueueCopyImage)(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,
                               const size_t *target_origin, const size_t *region, WAITS) {
    cl_int error = check_both(queue, source, true, target, true, wait_count, waits);
    if (error) return error;
    if (memcmp(&source->format, &target->format, sizeof source->format)) return CL_IMAGE_FORMAT_MISMATCH;
    if (check_region(source, source_origin, region) || check_region(target, target_origin, region)) return CL_INVALID_VALUE;
    bool meet = source == target;
    struct copy_body body = {0};
    for (unsigned i = 0; i < 3; i++) {
        size_t from = source_origin[i], to = target_origin[i];
        meet = meet && from < to + region[i] && to < from + region[i];
        body.region[i] = region[i];
        body.source_origin[i] = from;
        body.target_origin[i] = to;
    }
    return meet ? CL_MEM_COPY_OVERLAP : copy(queue, CL_COMMAND_COPY_IMAGE, source, target, &body, WAITED);
}

/* The bytes that a region of an image takes in a buffer, or SIZE_MAX. */
static size_t packed_bytes(const struct memory *image, const size_t *region) {
    unsigned __int128 bytes = (unsigned __int128)region[0] * region[1] * region[2] * image->texel;
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

cl_int API(clEnqueueCopyImageToBuffer)(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *origin,
                                       const size_t *region, size_t offset, WAITS) {
    cl_int error = check_both(queue, source, true, target, false, wait_count, waits);
    if (!error) error = check_region(source, origin, region);
    if (error) return error;
    size_t bytes = packed_bytes(source, region);
    if (!inside(offset, bytes, target->size)) return refuse_range(bytes, offset, target->size);
    struct copy_body body = {.region = {region[0], region[1], region[2]}, .source_origin = {origin[0], origin[1], origin[2]}};
    body.target_origin[0] = offset;
    return copy(queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, source, target, &body, WAITED);
}

cl_int API(clEnqueueCopyBufferToImage)(cl_command_queue queue, cl_mem source, cl_mem target, size_t offset, const size_t *origin,
                                       const size_t *region, WAITS) {
    cl_int error = check_both(queue, source, false, target, true, wait_count, waits);
    if (!error) error = check_region(target, origin, region);
    if (error) return error;
    size_t bytes = packed_bytes(target, region);
    if (!inside(offset, bytes, source->size)) return refuse_range(bytes, offset, source->size);
    struct copy_body body = {.region = {region[0], region[1], region[2]}, .target_origin = {origin[0], origin[1], origin[2]}};
    body.source_origin[0] = offset;
    return copy(queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, source, target, &body, WAITED);
}

struct fill_body {
    uint64_t memory;
    uint32_t bytes, zero;
    uint64_t origin[3], region[3];
    uint8_t pattern[128];
};
_Static_assert(offsetof(struct fill_body, pattern) == ADRENO_SIZE_FILL_BODY, "FILL_BODY is without padding");

static cl_int fill(cl_command_queue queue, cl_uint type, cl_mem memory, struct fill_body *body, WAITS) {
    struct object *held[] = {&memory->head};
    struct command command = {
        .queue = queue, .type = type, .kind = ADRENO_COMMAND_FILL, .body = body,
        .body_size = ADRENO_SIZE_FILL_BODY + body->bytes, .held = held, .held_count = 1,
    };
    body->memory = memory->number;
    return enqueue(&command, wait_count, waits, event, false);
}

cl_int fill_buffer(cl_command_queue queue, cl_uint type, cl_mem buffer, const void *pattern, size_t pattern_bytes, size_t offset,
                   size_t bytes, WAITS) {
    if (!inside(offset, bytes, buffer->size))
        return refuse_range(bytes, offset, buffer->size);
    bool whole = pattern_bytes && pattern_bytes <= 128 && !(pattern_bytes & (pattern_bytes - 1));
    if (!pattern || !whole)
        return refuse_call(CL_INVALID_VALUE, NULL, "a pattern of %zu bytes: expected a power of two up to 128", pattern_bytes);
    if (offset % pattern_bytes || bytes % pattern_bytes)
        return refuse_call(CL_INVALID_VALUE, NULL, "%zu bytes at offset %zu: expected multiples of the pattern's %zu", bytes, offset,
                           pattern_bytes);
    struct fill_body body = {.bytes = (uint32_t)pattern_bytes, .origin = {offset}, .region = {bytes, 1, 1}};
    memcpy(body.pattern, pattern, pattern_bytes);
    if (bytes) return fill(queue, type, buffer, &body, WAITED);
    struct command nothing = {.queue = queue, .type = type, .kind = ADRENO_COMMAND_NOTHING};
    return enqueue(&nothing, wait_count, waits, event, false);
}

cl_int API(clEnqueueFillBuffer)(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_bytes, size_t offset,
                                size_t bytes, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (!error) error = check_memory(queue, buffer, false, 0);
    return error ? error : fill_buffer(queue, CL_COMMAND_FILL_BUFFER, buffer, pattern, pattern_bytes, offset, bytes, WAITED);
}

cl_int API(clEnqueueFillImage)(cl_command_queue queue, cl_mem image, const void *color, const size_t *origin,
                               const size_t *region, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (!error) error = check_memory(queue, image, true, 0);
    if (!error) error = color ? check_region(image, origin, region) : CL_INVALID_VALUE;
    if (error) return error;
    struct fill_body body = {
        .bytes = 16, .origin = {origin[0], origin[1], origin[2]}, .region = {region[0], region[1], region[2]},
    };
    memcpy(body.pattern, color, image->format.image_channel_order == CL_DEPTH ? 4 : 16);
    return fill(queue, CL_COMMAND_FILL_IMAGE, image, &body, WAITED);
}

cl_int check_migration(cl_uint count, const void *objects, cl_bitfield flags) {
    cl_bitfield others = flags & ~(cl_bitfield)(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED);
    if (!count || !objects)
        return refuse_call(CL_INVALID_VALUE, NULL, "a list of %u objects%s: expected one or more", count, objects ? "" : " that is NULL");
    if (!others) return CL_SUCCESS;
    return refuse_call(CL_INVALID_VALUE, NULL, "flags 0x%llx: 0x%llx is not one of CL_MIGRATE_MEM_OBJECT_HOST (1) and "
                                               "CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED (2); 0 migrates to the queue's device",
                       (unsigned long long)flags, (unsigned long long)others);
}

cl_int API(clEnqueueMigrateMemObjects)(cl_command_queue queue, cl_uint count, const cl_mem *memories, cl_bitfield flags, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    if ((error = check_migration(count, memories, flags))) return error;
    for (cl_uint i = 0; i < count; i++) {
        if (!memory_lives(memories[i]))
            return refuse_call(CL_INVALID_MEM_OBJECT, NULL, "object %u of the list is not a memory object that lives", i);
        if (memories[i]->context != queue->context)
            return refuse_call(CL_INVALID_CONTEXT, NULL, "object %u of the list is of another context than the queue", i);
    }
    struct command command = {.queue = queue, .type = CL_COMMAND_MIGRATE_MEM_OBJECTS, .kind = ADRENO_COMMAND_NOTHING};
    command.held = (struct object *const *)memories;
    command.held_count = count;
    return enqueue(&command, wait_count, waits, event, false);
}
