/* Buffers, sub-buffers, and what all memory objects share. */
#include "../core/misuse.h"
#include "common.h"

#define ACCESS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define HOST_ACCESS (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
#define HOST_POINTER (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)

struct memory_reply {
    uint64_t place, size, row_pitch, slice_pitch;
    uint32_t texel, zero;
};
_Static_assert(sizeof(struct memory_reply) == ADRENO_SIZE_MEMORY_REPLY, "MEMORY_REPLY is without padding");

static bool at_most_one(cl_bitfield bits) { return !(bits & (bits - 1)); }

static cl_int refuse_flags(cl_bitfield flags, const char *expected) {
    return refuse_call(CL_INVALID_VALUE, NULL, "flags 0x%llx: %s", (unsigned long long)flags, expected);
}

cl_int check_flags(cl_bitfield flags) {
    cl_bitfield others = flags & ~(cl_bitfield)(ACCESS | HOST_ACCESS | HOST_POINTER);
    if (others)
        return refuse_call(CL_INVALID_VALUE, NULL, "flags 0x%llx: 0x%llx is not a flag of memory on this device", (unsigned long long)flags,
                           (unsigned long long)others);
    if (!at_most_one(flags & ACCESS))
        return refuse_flags(flags, "OpenCL expects one of CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY and CL_MEM_READ_ONLY at the most");
    if (!at_most_one(flags & HOST_ACCESS))
        return refuse_flags(flags, "OpenCL expects one of CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY and CL_MEM_HOST_NO_ACCESS at the "
                                   "most");
    if (flags & CL_MEM_USE_HOST_PTR && flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR))
        return refuse_flags(flags, "OpenCL expects CL_MEM_USE_HOST_PTR without CL_MEM_ALLOC_HOST_PTR and CL_MEM_COPY_HOST_PTR");
    return CL_SUCCESS;
}

cl_int check_host_pointer(cl_bitfield flags, const void *host) {
    bool needs = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    if (needs == (host != NULL)) return CL_SUCCESS;
    return refuse_call(CL_INVALID_HOST_PTR, NULL,
                       needs ? "the host's pointer is NULL: CL_MEM_USE_HOST_PTR and CL_MEM_COPY_HOST_PTR need memory of the host"
                             : "a pointer to memory of the host: OpenCL expects CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR with it, or NULL");
}

cl_int check_no_properties(const cl_properties *properties) {
    if (!properties || !properties[0]) return CL_SUCCESS;
    return refuse_call(CL_INVALID_PROPERTY, NULL, "property 0x%llx: the device has no properties of memory; pass NULL",
                       (unsigned long long)properties[0]);
}

static void end_memory(struct object *object) {
    struct memory *memory = (struct memory *)object;
    struct link *link = memory->link;
    uint64_t number = memory->number;
    call_notices(memory->destructors, memory);
    if (memory->maps) { /* before the memory is used for something else, as the host's own may be already */
        state_lock(link);
        for (struct map *map = memory->maps; map; map = map->next) unlist_map(map, !memory->host);
        state_unlock(link);
    }
    if (number) enqueue_silently(link, ADRENO_COMMAND_FREE, &number, sizeof number);
    if (memory->maps) {
        note_misuse((struct misuse){.what = ADRENO_MISUSE_NEVER_UNMAPPED}, "%s is released while it is mapped; call %u made it",
                    is_image(memory) ? "an image" : "a buffer", memory->head.call);
        tell_misuses();
    }
    while (memory->maps) {
        struct map *next = memory->maps->next;
        state_lock(link);
        count_part_map(memory, memory->maps, -1);
        staging_give(link, memory->maps->staging.at, memory->maps->staging.bytes);
        state_unlock(link);
        free(memory->maps);
        memory->maps = next;
    }
    free(memory->digests);
    free(memory->list);
    if (memory->parent) {
        atomic_fetch_sub(&memory->parent->children, 1);
        object_drop(memory->parent);
    }
    object_drop(memory->context);
}

static struct context *context_of_memory(const struct object *object) { return ((const struct memory *)object)->context; }

static const struct object_class memory_class = {MEMORY, sizeof(struct memory), end_memory, context_of_memory, check_mapped,
                                                complete_map};

struct memory *new_memory(struct context *context, cl_bitfield flags, cl_uint type, void *made_at) {
    count_call();
    struct memory *made = object_new(&memory_class, 1, made_at);
    if (!made) return NULL;
    made->context = context;
    object_hold(context);
    made->link = context->link;
    made->flags = flags & ACCESS ? flags : flags | CL_MEM_READ_WRITE;
    made->type = type;
    return made;
}

bool memory_lives(const void *handle) {
    const struct memory *memory = handle;
    if (!object_is(memory, MEMORY)) return false;
    if (users(memory) || atomic_load(&memory->children)) return true;
    used_after_release(&memory->head, MEMORY);
    return false;
}

void adopt(struct memory *made, struct memory *parent) {
    made->parent = parent;
    object_hold(parent);
    atomic_fetch_add(&parent->children, 1);
}

cl_int place_memory(struct memory *made) {
    struct link *link = made->link;
    uint32_t number = atomic_fetch_add(&link->memories, 1) + 1;
    struct memory_body body = {
        .number = number, .kind = made->kind, .flags = made->flags, .size = made->size, .offset = made->offset,
        .order = made->format.image_channel_order, .type = made->format.image_channel_data_type,
        .width = made->desc.image_width, .height = made->desc.image_height, .depth = made->desc.image_depth,
        .layers = made->desc.image_array_size, .parent = made->parent ? made->parent->number : 0,
    };
    if (made->parent) { /* the pitches of an image of its own describe the host's memory, not the device's */
        body.row_pitch = made->desc.image_row_pitch;
        body.slice_pitch = made->desc.image_slice_pitch;
    }
    cl_int status = CL_SUCCESS;
    struct memory_reply found;
    for (int attempt = 0; attempt < 2; attempt++) {
        struct bytes request = {0}, reply;
        put(&request, &body, sizeof body);
        status = link_request(link, ADRENO_REQUEST_MEMORY, &request, &reply);
        if (!status && reply.size < sizeof found) status = CL_OUT_OF_RESOURCES;
        if (!status) memcpy(&found, reply.data, sizeof found);
        else if (reply.data) refuse_call(status, NULL, "%s", (const char *)reply.data);
        free(reply.data);
        if (status != CL_MEM_OBJECT_ALLOCATION_FAILURE) break;
        drain(link); /* frees what was released while commands still used it */
    }
    if (status) return status;
    made->number = number;
    made->place = found.place;
    made->size = found.size;
    if (is_image(made)) {
        made->row_pitch = found.row_pitch;
        made->slice_pitch = found.slice_pitch;
    } else if (found.place > link->heap_bytes || found.size > link->heap_bytes - found.place) {
        return CL_OUT_OF_RESOURCES;
    }
    return CL_SUCCESS;
}

/* The last reference to an object that was never handed out. */
static void *give_up(struct memory *made, cl_int *error, cl_int code) {
    object_release(made, MEMORY, 0);
    return fail(error, code);
}

/* A buffer whose host memory is shared virtual memory: both are the same bytes. */
static cl_mem make_over_shared(struct memory *made, struct memory *under, void *host, cl_int *error) {
    bool fits = shared_has(under, host, made->size);
    made->offset = shared_offset(under, host);
    if (fits) adopt(made, under);
    object_drop(under);
    cl_int wrong = fits ? place_memory(made) : CL_INVALID_BUFFER_SIZE;
    return wrong ? give_up(made, error, wrong) : succeed(error, made);
}

static cl_mem make_buffer(cl_context context, const cl_properties *properties, cl_bitfield flags, size_t size, void *host,
                          cl_int *error, void *made_at) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    cl_int wrong = check_no_properties(properties);
    if (wrong || (wrong = check_flags(flags))) return fail(error, wrong);
    uint64_t most = device_number(context->link, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    if (!size || size > most)
        return fail(error, refuse_call(CL_INVALID_BUFFER_SIZE, NULL, "a buffer of %zu bytes: expected 1 to %llu", size,
                                       (unsigned long long)most));
    if ((wrong = check_host_pointer(flags, host))) return fail(error, wrong);
    if (link_lost(context->link)) return fail(error, CL_DEVICE_NOT_AVAILABLE);
    struct memory *made = new_memory(context, flags, CL_MEM_OBJECT_BUFFER, made_at);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    made->size = size;
    long count = copy_list(properties, &made->list);
    made->list_count = count > 0 ? (size_t)count : 0;
    struct memory *under = flags & CL_MEM_USE_HOST_PTR ? hold_shared(context, host) : NULL;
    if (under) return make_over_shared(made, under, host, error);
    if ((wrong = place_memory(made))) return give_up(made, error, wrong);
    if (flags & CL_MEM_USE_HOST_PTR) made->host = host;
    host_memory_known(made, 0, size);
    if (host) {
        uint64_t range[3] = {made->number, 0, size};
        memcpy(made->link->heap + made->place, host, size);
        enqueue_silently(made->link, ADRENO_COMMAND_WRITTEN, range, sizeof range);
    }
    return succeed(error, made);
}

cl_mem API(clCreateBuffer)(cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *error) {
    return make_buffer(context, NULL, flags, size, host, error, CALLER);
}

cl_mem API(clCreateBufferWithProperties)(cl_context context, const cl_properties *properties, cl_bitfield flags, size_t size,
                                         void *host, cl_int *error) {
    return make_buffer(context, properties, flags, size, host, error, CALLER);
}

cl_int inherit_flags(const struct memory *whole, cl_bitfield *flags) {
    cl_bitfield parent = whole->flags, asked = *flags, no_more = 0;
    if (asked & ~(cl_bitfield)(ACCESS | HOST_ACCESS))
        return refuse_call(CL_INVALID_VALUE, NULL, "flags 0x%llx: memory that is a part of other memory takes flags of access only, and has "
                                                   "the others from that", (unsigned long long)asked);
    cl_int wrong = check_flags(asked);
    if (wrong) return wrong;
    if (parent & CL_MEM_WRITE_ONLY) no_more |= asked & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY);
    if (parent & CL_MEM_READ_ONLY) no_more |= asked & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY);
    if (parent & CL_MEM_HOST_WRITE_ONLY) no_more |= asked & CL_MEM_HOST_READ_ONLY;
    if (parent & CL_MEM_HOST_READ_ONLY) no_more |= asked & CL_MEM_HOST_WRITE_ONLY;
    if (parent & CL_MEM_HOST_NO_ACCESS) no_more |= asked & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY);
    if (no_more)
        return refuse_call(CL_INVALID_VALUE, NULL, "flags 0x%llx allow more than 0x%llx, those of the memory that it is a part of, which call "
                                                   "%u made; pass 0 to have its flags", (unsigned long long)asked, (unsigned long long)(parent & (ACCESS | HOST_ACCESS)),
                           whole->head.call);
    if (!(asked & ACCESS)) asked |= parent & ACCESS;
    if (!(asked & HOST_ACCESS)) asked |= parent & HOST_ACCESS;
    *flags = asked | (parent & HOST_POINTER);
    return CL_SUCCESS;
}

bool is_misaligned(const struct memory *memory) {
    uint64_t bits = device_number(memory->link, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
    return bits >= 8 && memory->offset % (bits / 8);
}

cl_mem API(clCreateSubBuffer)(cl_mem buffer, cl_bitfield flags, cl_uint type, const void *region, cl_int *error) {
    bool is_part = memory_lives(buffer) && buffer->parent && !(buffer->parent->flags & CL_MEM_SHARED_VIRTUAL);
    if (!memory_lives(buffer) || is_image(buffer) || is_part) return fail(error, CL_INVALID_MEM_OBJECT);
    cl_int wrong = inherit_flags(buffer, &flags);
    if (wrong) return fail(error, wrong);
    if (type != CL_BUFFER_CREATE_TYPE_REGION || !region)
        return fail(error, refuse_call(CL_INVALID_VALUE, NULL, "buffer_create_type 0x%x%s: expected CL_BUFFER_CREATE_TYPE_REGION (0x1220) "
                                                               "and a cl_buffer_region", type, region ? "" : " and no region"));
    const cl_buffer_region *part = region;
    if (!inside(part->origin, part->size, buffer->size)) return fail(error, refuse_range(part->size, part->origin, buffer->size));
    if (!part->size) return fail(error, refuse_call(CL_INVALID_BUFFER_SIZE, NULL, "a part of 0 bytes: expected 1 or more"));
    struct memory *made = new_memory(buffer->context, flags, CL_MEM_OBJECT_BUFFER, CALLER);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    made->size = part->size;
    made->offset = part->origin;
    adopt(made, buffer);
    if (is_misaligned(made)) return give_up(made, error, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    if ((wrong = place_memory(made))) return give_up(made, error, wrong);
    if (buffer->host) made->host = (char *)buffer->host + part->origin;
    return succeed(error, made);
}

cl_int API(clRetainMemObject)(cl_mem memory) { return object_retain(memory, MEMORY, CL_INVALID_MEM_OBJECT); }
cl_int API(clReleaseMemObject)(cl_mem memory) { return object_release(memory, MEMORY, CL_INVALID_MEM_OBJECT); }

static bool is_shared(const struct memory *memory) { return memory->flags & CL_MEM_SHARED_VIRTUAL; }

cl_int API(clGetMemObjectInfo)(cl_mem memory, ANSWER) {
    if (!memory_lives(memory)) return CL_INVALID_MEM_OBJECT;
    switch (name) {
    case CL_MEM_TYPE: GIVE(cl_uint, memory->type);
    case CL_MEM_FLAGS: GIVE(cl_bitfield, memory->flags);
    case CL_MEM_SIZE: GIVE(size_t, memory->size);
    case CL_MEM_HOST_PTR: GIVE(void *, shared_under(memory) ? memory->link->heap + memory->place : memory->host);
    case CL_MEM_MAP_COUNT: GIVE(cl_uint, memory->map_count);
    case CL_MEM_REFERENCE_COUNT: GIVE(cl_uint, users(memory));
    case CL_MEM_CONTEXT: GIVE(cl_context, memory->context);
    case CL_MEM_ASSOCIATED_MEMOBJECT: GIVE(cl_mem, memory->parent && is_shared(memory->parent) ? NULL : memory->parent);
    case CL_MEM_OFFSET: GIVE(size_t, memory->parent && is_shared(memory->parent) ? 0 : memory->offset);
    case CL_MEM_USES_SVM_POINTER: GIVE(cl_bool, shared_under(memory) != NULL);
    case CL_MEM_PROPERTIES: return give(size, value, size_ret, memory->list, memory->list_count * sizeof *memory->list);
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clSetMemObjectDestructorCallback)(cl_mem memory, memory_destructor notice, void *data) {
    if (!memory_lives(memory)) return CL_INVALID_MEM_OBJECT;
    if (!notice) return CL_INVALID_VALUE;
    state_lock(memory->link);
    bool added = add_notice(&memory->destructors, (void (*)(void *, void *))(void *)notice, data);
    state_unlock(memory->link);
    return added ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

cl_int check_memory(const struct queue *queue, const struct memory *memory, bool image, cl_bitfield forbidden) {
    if (!memory_lives(memory) || is_image(memory) != image) return CL_INVALID_MEM_OBJECT;
    if (memory->context != queue->context) return CL_INVALID_CONTEXT;
    if (!(memory->flags & forbidden)) return CL_SUCCESS;
    return refuse_call(CL_INVALID_OPERATION, NULL, "the flags of the memory, which call %u made, forbid the host %s", memory->head.call,
                       memory->flags & CL_MEM_HOST_NO_ACCESS ? "all access" : memory->flags & CL_MEM_HOST_READ_ONLY ? "to write it"
                                                                                                                  : "to read it");
}
