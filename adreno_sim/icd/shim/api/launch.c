/* Arguments of kernels, and launches. */
#include "../core/misuse.h"
#include "programs.h"

/* Settles a memory object, or NULL, as the argument of a parameter for buffers or images. */
static cl_int set_memory(struct slot *slot, const struct param *param, const struct kernel *kernel, const void *value) {
    struct memory *memory = NULL;
    if (value) memcpy(&memory, value, sizeof memory);
    if (!memory) {
        if (param->kind == ADRENO_ARGUMENT_IMAGE) return CL_INVALID_MEM_OBJECT;
        *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_NULL};
        return CL_SUCCESS;
    }
    if (!memory_lives(memory) || memory->context != kernel->program->context) return CL_INVALID_MEM_OBJECT;
    if (is_image(memory) != (param->kind == ADRENO_ARGUMENT_IMAGE)) return CL_INVALID_MEM_OBJECT;
    if (param->access == CL_KERNEL_ARG_ACCESS_READ_ONLY && memory->flags & CL_MEM_WRITE_ONLY) return CL_INVALID_ARG_VALUE;
    if (param->access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY && memory->flags & CL_MEM_READ_ONLY) return CL_INVALID_ARG_VALUE;
    if (param->access == CL_KERNEL_ARG_ACCESS_READ_WRITE && !(memory->flags & CL_MEM_READ_WRITE)) return CL_INVALID_ARG_VALUE;
    *slot = (struct slot){.set = true, .kind = param->kind, .object = &memory->head, .number = memory->number};
    slot->serial = object_serial(memory);
    return CL_SUCCESS;
}

static cl_int set_sampler(struct slot *slot, const struct kernel *kernel, const void *value) {
    struct sampler *sampler = NULL;
    if (value) memcpy(&sampler, value, sizeof sampler);
    if (!object_is(sampler, SAMPLER) || sampler->context != kernel->program->context) return CL_INVALID_SAMPLER;
    *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_SAMPLER};
    slot->number = sampler->normalized | (uint64_t)(sampler->addressing - CL_ADDRESS_NONE) << 8 |
                   (uint64_t)(sampler->filter - CL_FILTER_NEAREST) << 16;
    return CL_SUCCESS;
}

static cl_int set_value(struct slot *slot, const struct param *param, size_t size, const void *value) {
    if (!value) return CL_INVALID_ARG_VALUE;
    if (param->bytes ? size != param->bytes : !size) return CL_INVALID_ARG_SIZE;
    uint8_t *many = slot->many;
    bool grows = size > sizeof slot->few && (!many || slot->bytes < size);
    if (grows && !(many = realloc(slot->many, size))) return CL_OUT_OF_HOST_MEMORY;
    memcpy(size > sizeof slot->few ? many : slot->few, value, size);
    slot->many = many;
    slot->bytes = size;
    slot->kind = ADRENO_ARGUMENT_VALUE;
    slot->set = true;
    return CL_SUCCESS;
}

cl_int API(clSetKernelArg)(cl_kernel kernel, cl_uint place, size_t size, const void *value) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (place >= kernel->facts->param_count) return CL_INVALID_ARG_INDEX;
    const struct param *param = &kernel->facts->params[place];
    struct slot *slot = &kernel->slots[place];
    switch (param->kind) {
    case ADRENO_ARGUMENT_BUFFER:
    case ADRENO_ARGUMENT_IMAGE:
        return size == sizeof(cl_mem) ? set_memory(slot, param, kernel, value) : CL_INVALID_ARG_SIZE;
    case ADRENO_ARGUMENT_SAMPLER: return size == sizeof(cl_sampler) ? set_sampler(slot, kernel, value) : CL_INVALID_ARG_SIZE;
    case ADRENO_ARGUMENT_LOCAL:
        if (value) return CL_INVALID_ARG_VALUE;
        if (!size) return CL_INVALID_ARG_SIZE;
        *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_LOCAL, .bytes = size};
        return CL_SUCCESS;
    default: return set_value(slot, param, size, value);
    }
}

struct launch_body {
    uint32_t program, kernel, dimensions, count;
    uint64_t offset[3], global[3], local[3];
};
_Static_assert(sizeof(struct launch_body) == ADRENO_SIZE_LAUNCH_BODY, "LAUNCH_BODY is without padding");

static cl_int check_group(const struct kernel *kernel, cl_uint dimensions, const size_t *global, const size_t *local) {
    const struct link *link = kernel->program->link;
    const struct facts *facts = kernel->facts;
    size_t items = 1, most = device_size(link, CL_DEVICE_MAX_WORK_GROUP_SIZE, 0);
    for (cl_uint i = 0; i < dimensions; i++) {
        if (!local[i]) return CL_INVALID_WORK_GROUP_SIZE;
        if (local[i] > device_size(link, CL_DEVICE_MAX_WORK_ITEM_SIZES, i)) return CL_INVALID_WORK_ITEM_SIZE;
        if ((items *= local[i]) > most) return CL_INVALID_WORK_GROUP_SIZE;
        bool uniform = kernel->program->uniform || link->version < 200;
        if (uniform && global[i] % local[i]) return CL_INVALID_WORK_GROUP_SIZE;
    }
    if (items > facts->sure && items > largest_group(kernel)) return CL_INVALID_WORK_GROUP_SIZE;
    for (cl_uint i = 0; facts->required[0] && i < 3; i++)
        if (facts->required[i] != (i < dimensions ? local[i] : 1)) return CL_INVALID_WORK_GROUP_SIZE;
    return CL_SUCCESS;
}

/* No fewer bytes than the arguments take in a command. */
static size_t argument_bytes(const struct kernel *kernel) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < kernel->facts->param_count; i++)
        bytes += 16 + (kernel->slots[i].kind == ADRENO_ARGUMENT_VALUE ? kernel->slots[i].bytes + 8 : 0);
    return bytes;
}

/* Writes the arguments behind the body, and what has to live until the launch is over. */
static cl_int put_arguments(struct bytes *body, const struct kernel *kernel, struct object **held, uint32_t *held_count) {
    cl_ulong local = kernel->facts->local_bytes;
    for (uint32_t i = 0; i < kernel->facts->param_count; i++) {
        const struct slot *slot = &kernel->slots[i];
        if (!slot->set) {
            struct misuse misuse = {.what = ADRENO_MISUSE_ARGUMENT_NOT_SET, .kernel = kernel->facts->name};
            note_misuse(misuse, "argument %u (%s) of %s was never set, and nothing is launched", i, kernel->facts->params[i].name,
                        kernel->facts->name);
            tell_misuses();
            return CL_INVALID_KERNEL_ARGS;
        }
        size_t bytes = slot->kind == ADRENO_ARGUMENT_VALUE ? slot->bytes : slot->kind == ADRENO_ARGUMENT_NULL ? 0 : 8;
        put_u32(body, slot->kind);
        put_u32(body, (uint32_t)bytes);
        if (slot->kind == ADRENO_ARGUMENT_VALUE) {
            put(body, bytes > sizeof slot->few ? slot->many : slot->few, bytes);
            put_padding(body);
        } else if (slot->kind == ADRENO_ARGUMENT_LOCAL) {
            put_u64(body, slot->bytes);
            local += slot->bytes;
        } else if (slot->kind != ADRENO_ARGUMENT_NULL) {
            put_u64(body, slot->number);
        }
        if (!slot->object) continue;
        if (!memory_lives(slot->object) || object_serial(slot->object) != slot->serial) return CL_INVALID_KERNEL_ARGS;
        held[(*held_count)++] = (struct object *)slot->object;
    }
    return local > device_number(kernel->program->link, CL_DEVICE_LOCAL_MEM_SIZE) ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

static cl_int launch(cl_command_queue queue, cl_uint type, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                     const size_t *global, const size_t *local, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    struct program *program = kernel->program;
    if (program->context != queue->context) return CL_INVALID_CONTEXT;
    if (!program->number) return CL_INVALID_PROGRAM_EXECUTABLE;
    if (dimensions < 1 || dimensions > 3) return CL_INVALID_WORK_DIMENSION;
    struct launch_body head = {
        .program = program->number, .kernel = kernel->place, .dimensions = dimensions, .count = kernel->facts->param_count,
        .global = {1, 1, 1},
    };
    bool nothing = !global;
    for (cl_uint i = 0; global && i < dimensions; i++) {
        head.global[i] = global[i];
        head.offset[i] = offset ? offset[i] : 0;
        if (head.offset[i] + head.global[i] < head.offset[i]) return CL_INVALID_GLOBAL_OFFSET;
        nothing |= !global[i];
    }
    if (nothing && program->link->version < 210) return CL_INVALID_GLOBAL_WORK_SIZE;
    size_t required[3] = {kernel->facts->required[0], kernel->facts->required[1], kernel->facts->required[2]};
    if (!local && required[0]) local = required;
    if (local && !nothing) {
        if ((error = check_group(kernel, dimensions, global, local))) return error;
        for (cl_uint i = 0; i < 3; i++) head.local[i] = i < dimensions ? local[i] : 1;
    }
    struct object *few[64], **held = few;
    if (head.count >= 64 && !(held = malloc((head.count + 1) * sizeof *held))) return CL_OUT_OF_HOST_MEMORY;
    struct command command = {.queue = queue, .type = type, .kind = ADRENO_COMMAND_LAUNCH, .held = held, .held_count = 1};
    command.kernel = kernel->facts->name;
    held[0] = &program->head;
    uint8_t room[2048];
    bool on_stack = argument_bytes(kernel) <= sizeof room - sizeof head;
    struct bytes body = {.data = on_stack ? room : NULL, .room = on_stack ? sizeof room : 0};
    put(&body, &head, sizeof head);
    error = put_arguments(&body, kernel, held, &command.held_count);
    if (!error && body.failed) error = CL_OUT_OF_HOST_MEMORY;
    if (nothing) command.kind = ADRENO_COMMAND_NOTHING;
    command.body = body.data;
    command.body_size = nothing ? 0 : (uint32_t)body.size;
    if (!error) error = enqueue(&command, wait_count, waits, event, false);
    if (!on_stack) free(body.data);
    if (held != few) free(held);
    return error;
}

cl_int API(clEnqueueNDRangeKernel)(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                   const size_t *global, const size_t *local, WAITS) {
    return launch(queue, CL_COMMAND_NDRANGE_KERNEL, kernel, dimensions, offset, global, local, WAITED);
}

cl_int API(clEnqueueTask)(cl_command_queue queue, cl_kernel kernel, WAITS) {
    const size_t one = 1;
    return launch(queue, CL_COMMAND_TASK, kernel, 1, NULL, &one, &one, WAITED);
}
