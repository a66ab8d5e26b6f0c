/* Reading and writing buffers from the host. */
#include "common.h"

struct transfer buffer_transfer(const struct memory *buffer, size_t offset, size_t bytes) {
    return (struct transfer){
        .memory = buffer->number, .region = {bytes, 1, 1}, .origin = {offset, 0, 0}, .row_pitch = bytes, .slice_pitch = bytes,
        .staging_row = bytes, .staging_slice = bytes,
    };
}

struct copy buffer_copy(const struct memory *buffer, enum way way, size_t offset, size_t bytes, const void *host) {
    return (struct copy){
        .way = way, .host = (uint8_t *)host, .row = bytes, .rows = 1, .slices = 1, .host_row = bytes, .host_slice = bytes,
        .straight = buffer->link->heap + buffer->place + offset, .memory = buffer->number, .offset = offset,
    };
}

cl_int transfer_buffer(cl_command_queue queue, cl_uint type, cl_mem buffer, bool writing, cl_bool blocking, size_t offset,
                       size_t bytes, const void *host, WAITS) {
    cl_int error;
    if (!host) return refuse_call(CL_INVALID_VALUE, NULL, "the host's memory is NULL");
    if (!inside(offset, bytes, buffer->size))
        return refuse_range(bytes, offset, buffer->size);
    host_memory_used(buffer, host, bytes);
    struct object *held[] = {&buffer->head};
    struct command command = {.queue = queue, .type = type, .held = held, .held_count = 1};
    struct transfer body = buffer_transfer(buffer, offset, bytes);
    if (!bytes) {
        command.kind = ADRENO_COMMAND_NOTHING;
        return enqueue(&command, wait_count, waits, event, blocking);
    }
    if (!blocking || (writing && shared_under(buffer))) { /* the host writes shared memory only where it is mapped */
        command.kind = writing ? ADRENO_COMMAND_WRITE : ADRENO_COMMAND_READ;
        command.body = &body;
        command.body_size = sizeof body;
        command.copy = buffer_copy(buffer, writing ? TO_STAGING : FROM_STAGING, offset, bytes, host);
        return enqueue(&command, wait_count, waits, event, blocking);
    }
    if (!writing) command.copy = buffer_copy(buffer, NO_COPY, offset, bytes, host);
    struct event *made = begin_by_host(&command, wait_count, waits, &error);
    if (!made) return error;
    uint8_t *place = buffer->link->heap + buffer->place + offset;
    uint64_t range[3] = {buffer->number, offset, bytes};
    if (writing)
        memmove(place, host, bytes);
    else
        copy_to_host(buffer->link, (uint8_t *)host, place, bytes);
    end_by_host(made, writing ? ADRENO_COMMAND_WRITTEN : ADRENO_COMMAND_HOST_READ, range, sizeof range, event);
    return CL_SUCCESS;
}

static cl_int transfer(cl_command_queue queue, cl_mem buffer, bool writing, cl_bool blocking, size_t offset, size_t bytes,
                       const void *host, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    cl_bitfield forbidden = CL_MEM_HOST_NO_ACCESS | (writing ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY);
    if ((error = check_memory(queue, buffer, false, forbidden))) return error;
    cl_uint type = writing ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER;
    return transfer_buffer(queue, type, buffer, writing, blocking, offset, bytes, host, WAITED);
}

cl_int API(clEnqueueReadBuffer)(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, void *host,
                                WAITS) {
    return transfer(queue, buffer, false, blocking, offset, bytes, host, WAITED);
}

cl_int API(clEnqueueWriteBuffer)(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                                 const void *host, WAITS) {
    return transfer(queue, buffer, true, blocking, offset, bytes, host, WAITED);
}

cl_int refuse_range(size_t bytes, size_t offset, size_t size) {
    return refuse_call(CL_INVALID_VALUE, NULL, "%zu bytes at offset %zu of a buffer of %zu", bytes, offset, size);
}

static cl_int refuse_pitch(const char *which, size_t pitch, const char *least, size_t bytes) {
    return refuse_call(CL_INVALID_VALUE, NULL, "a %s pitch of %zu: expected at least %zu, %s", which, pitch, bytes, least);
}

cl_int settle_box(const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch, size_t size) {
    if (!*row_pitch) *row_pitch = region[0];
    if (*row_pitch < region[0]) return refuse_pitch("row", *row_pitch, "the region's row", region[0]);
    unsigned __int128 rows = (unsigned __int128)region[1] * *row_pitch;
    if (rows > SIZE_MAX) return CL_INVALID_VALUE;
    if (!*slice_pitch) *slice_pitch = (size_t)rows;
    if (*slice_pitch < rows) return refuse_pitch("slice", *slice_pitch, "the region's rows", (size_t)rows);
    if (*slice_pitch % *row_pitch)
        return refuse_call(CL_INVALID_VALUE, NULL, "a slice pitch of %zu: expected a multiple of the row pitch, %zu", *slice_pitch,
                           *row_pitch);
    for (unsigned i = 0; i < 3; i++)
        if (origin[i] > SIZE_MAX / 4 || region[i] > SIZE_MAX / 4) return CL_INVALID_VALUE;
    unsigned __int128 end = (unsigned __int128)(origin[2] + region[2] - 1) * *slice_pitch +
                            (unsigned __int128)(origin[1] + region[1] - 1) * *row_pitch + origin[0] + region[0];
    if (end <= size) return CL_SUCCESS;
    return refuse_call(CL_INVALID_VALUE, NULL, "region %zu x %zu x %zu at (%zu, %zu, %zu), with pitches %zu and %zu, of a buffer of %zu",
                       region[0], region[1], region[2], origin[0], origin[1], origin[2], *row_pitch, *slice_pitch, size);
}

static cl_int transfer_box(cl_command_queue queue, bool writing, RECTANGLE, const void *host, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    cl_bitfield forbidden = CL_MEM_HOST_NO_ACCESS | (writing ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY);
    if ((error = check_memory(queue, buffer, false, forbidden))) return error;
    if (!host || !origin || !host_origin || !region || !region[0] || !region[1] || !region[2]) return CL_INVALID_VALUE;
    if ((error = settle_box(origin, region, &row_pitch, &slice_pitch, buffer->size))) return error;
    if ((error = settle_box(host_origin, region, &host_row_pitch, &host_slice_pitch, SIZE_MAX))) return error;
    struct object *held[] = {&buffer->head};
    struct transfer body = {
        .memory = buffer->number, .region = {region[0], region[1], region[2]}, .origin = {origin[0], origin[1], origin[2]},
        .row_pitch = row_pitch, .slice_pitch = slice_pitch, .staging_row = region[0], .staging_slice = region[0] * region[1],
    };
    struct command command = {
        .queue = queue, .held = held, .held_count = 1, .body = &body, .body_size = sizeof body,
        .type = writing ? CL_COMMAND_WRITE_BUFFER_RECT : CL_COMMAND_READ_BUFFER_RECT,
        .kind = writing ? ADRENO_COMMAND_WRITE : ADRENO_COMMAND_READ,
        .copy = {.way = writing ? TO_STAGING : FROM_STAGING, .row = region[0], .rows = region[1], .slices = region[2],
                 .host_row = host_row_pitch, .host_slice = host_slice_pitch},
    };
    host_memory_used(buffer, host, (host_origin[2] + region[2]) * host_slice_pitch);
    command.copy.host = (uint8_t *)host + host_origin[2] * host_slice_pitch + host_origin[1] * host_row_pitch + host_origin[0];
    return enqueue(&command, wait_count, waits, event, blocking);
}

cl_int API(clEnqueueReadBufferRect)(cl_command_queue queue, RECTANGLE, void *host, WAITS) {
    return transfer_box(queue, false, RECTANGLED, host, WAITED);
}

cl_int API(clEnqueueWriteBufferRect)(cl_command_queue queue, RECTANGLE, const void *host, WAITS) {
    return transfer_box(queue, true, RECTANGLED, host, WAITED);
}
