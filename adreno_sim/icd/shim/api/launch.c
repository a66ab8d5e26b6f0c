/* Arguments of kernels, and launches. */
#include "../core/misuse.h"
#include "programs.h"
#include <stdarg.h>
#include <stdio.h>

/* Says what is wrong with an argument that is being set. */
#define REFUSE(code, ...) refuse_argument(kernel, param, code, __VA_ARGS__)
__attribute__((format(printf, 4, 5))) static cl_int refuse_argument(const struct kernel *kernel, const struct param *param,
                                                                    cl_int code, const char *format, ...) {
    char text[160];
    va_list given;
    va_start(given, format);
    vsnprintf(text, sizeof text, format, given);
    va_end(given);
    const struct facts *facts = kernel->facts;
    return refuse_call(code, facts->name, "argument %u (%s) of %s %s", (unsigned)(param - facts->params), param->name, facts->name,
                       text);
}

/* Settles a memory object, or NULL, as the argument of a parameter for buffers or images. */
static cl_int set_memory(struct slot *slot, const struct param *param, const struct kernel *kernel, const void *value) {
    struct memory *memory = NULL;
    const char *wanted = param->kind == ADRENO_ARGUMENT_IMAGE ? "an image" : "a buffer";
    if (value) memcpy(&memory, value, sizeof memory);
    if (!memory) {
        if (param->kind == ADRENO_ARGUMENT_IMAGE) return REFUSE(CL_INVALID_MEM_OBJECT, "is an image, and got NULL");
        *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_NULL};
        return CL_SUCCESS;
    }
    if (!memory_lives(memory)) return REFUSE(CL_INVALID_MEM_OBJECT, "is %s, and got a value that is not a memory object", wanted);
    if (memory->context != kernel->program->context) return REFUSE(CL_INVALID_MEM_OBJECT, "got a memory object of another context");
    if (is_image(memory) != (param->kind == ADRENO_ARGUMENT_IMAGE))
        return REFUSE(CL_INVALID_MEM_OBJECT, "is %s, and got %s", wanted, is_image(memory) ? "an image" : "a buffer");
    bool reads = param->access == CL_KERNEL_ARG_ACCESS_READ_ONLY, writes = param->access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
    if (reads && memory->flags & CL_MEM_WRITE_ONLY) return REFUSE(CL_INVALID_ARG_VALUE, "is read_only, and got a CL_MEM_WRITE_ONLY image");
    if (writes && memory->flags & CL_MEM_READ_ONLY) return REFUSE(CL_INVALID_ARG_VALUE, "is write_only, and got a CL_MEM_READ_ONLY image");
    if (param->access == CL_KERNEL_ARG_ACCESS_READ_WRITE && !(memory->flags & CL_MEM_READ_WRITE))
        return REFUSE(CL_INVALID_ARG_VALUE, "is read_write, and got an image that is not CL_MEM_READ_WRITE");
    *slot = (struct slot){.set = true, .kind = param->kind, .object = &memory->head, .number = memory->number};
    slot->serial = object_serial(memory);
    return CL_SUCCESS;
}

static cl_int set_sampler(struct slot *slot, const struct param *param, const struct kernel *kernel, const void *value) {
    struct sampler *sampler = NULL;
    if (value) memcpy(&sampler, value, sizeof sampler);
    if (!object_is(sampler, SAMPLER)) return REFUSE(CL_INVALID_SAMPLER, "is a sampler, and got a value that is none");
    if (sampler->context != kernel->program->context) return REFUSE(CL_INVALID_SAMPLER, "got a sampler of another context");
    *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_SAMPLER};
    slot->number = sampler->normalized | (uint64_t)(sampler->addressing - CL_ADDRESS_NONE) << 8 |
                   (uint64_t)(sampler->filter - CL_FILTER_NEAREST) << 16;
    return CL_SUCCESS;
}

static cl_int set_value(struct slot *slot, const struct param *param, const struct kernel *kernel, size_t size,
                        const void *value) {
    if (!value) return REFUSE(CL_INVALID_ARG_VALUE, "is a value, and got NULL");
    if (param->bytes ? size != param->bytes : !size)
        return REFUSE(CL_INVALID_ARG_SIZE, "has %u bytes (%s), and got %zu", param->bytes, param->type, size);
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

static cl_int set_local(struct slot *slot, const struct param *param, const struct kernel *kernel, size_t size,
                        const void *value) {
    if (value) return REFUSE(CL_INVALID_ARG_VALUE, "is local memory, and got a value: expected NULL");
    if (!size) return REFUSE(CL_INVALID_ARG_SIZE, "is local memory, and got 0 bytes");
    *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_LOCAL, .bytes = size};
    return CL_SUCCESS;
}

static cl_int set_argument(struct slot *slot, const struct param *param, const struct kernel *kernel, size_t size,
                           const void *value) {
    bool is_object = param->kind == ADRENO_ARGUMENT_BUFFER || param->kind == ADRENO_ARGUMENT_IMAGE ||
                     param->kind == ADRENO_ARGUMENT_SAMPLER;
    if (is_object && size != sizeof(void *))
        return REFUSE(CL_INVALID_ARG_SIZE, "is an object, a handle of %zu bytes, and got %zu", sizeof(void *), size);
    switch (param->kind) {
    case ADRENO_ARGUMENT_BUFFER:
    case ADRENO_ARGUMENT_IMAGE: return set_memory(slot, param, kernel, value);
    case ADRENO_ARGUMENT_SAMPLER: return set_sampler(slot, param, kernel, value);
    case ADRENO_ARGUMENT_LOCAL: return set_local(slot, param, kernel, size, value);
    default: return set_value(slot, param, kernel, size, value);
    }
}

cl_int note_setting(struct slot *slot, cl_int error) {
    slot->refused = error;
    if (error) slot->refused_call = count_call();
    return error;
}

cl_int API(clSetKernelArg)(cl_kernel kernel, cl_uint place, size_t size, const void *value) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    const struct facts *facts = kernel->facts;
    if (place >= facts->param_count)
        return refuse_call(CL_INVALID_ARG_INDEX, facts->name, "argument %u of %s, which has %u", place, facts->name,
                           facts->param_count);
    struct slot *slot = &kernel->slots[place];
    return note_setting(slot, set_argument(slot, &facts->params[place], kernel, size, value));
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
        size_t largest = device_size(link, CL_DEVICE_MAX_WORK_ITEM_SIZES, i);
        if (!local[i]) return refuse_call(CL_INVALID_WORK_GROUP_SIZE, facts->name, "local size 0 in dimension %u", i);
        if (local[i] > largest)
            return refuse_call(CL_INVALID_WORK_ITEM_SIZE, facts->name, "local size %zu in dimension %u: the device has at most %zu",
                               local[i], i, largest);
        if ((items *= local[i]) > most)
            return refuse_call(CL_INVALID_WORK_GROUP_SIZE, facts->name, "%zu or more work-items in a group: the device has at most %zu",
                               items, most);
        bool uniform = kernel->program->uniform || link->version < 200;
        if (uniform && global[i] % local[i])
            return refuse_call(CL_INVALID_WORK_GROUP_SIZE, facts->name,
                               "global size %zu in dimension %u is not a multiple of the local size %zu", global[i], i, local[i]);
    }
    if (items > facts->sure && items > (most = largest_group(kernel)))
        return refuse_call(CL_INVALID_WORK_GROUP_SIZE, facts->name, "%zu work-items in a group: the registers of %s leave %zu",
                           items, facts->name, most);
    for (cl_uint i = 0; facts->required[0] && i < 3; i++)
        if (facts->required[i] != (i < dimensions ? local[i] : 1))
            return refuse_call(CL_INVALID_WORK_GROUP_SIZE, facts->name, "%s requires groups of %u x %u x %u", facts->name,
                               facts->required[0], facts->required[1], facts->required[2]);
    return CL_SUCCESS;
}

/* No fewer bytes than the arguments take in a command. */
static size_t argument_bytes(const struct kernel *kernel) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < kernel->facts->param_count; i++)
        bytes += 24 + (kernel->slots[i].kind == ADRENO_ARGUMENT_VALUE ? kernel->slots[i].bytes + 8 : 0);
    return bytes + 16 * (size_t)kernel->reached_count;
}

/* Writes the arguments behind the body, and what has to live until the launch is over. */
static cl_int put_arguments(struct bytes *body, const struct kernel *kernel, struct object **held, uint32_t *held_count) {
    cl_ulong local = kernel->facts->local_bytes;
    for (uint32_t i = 0; i < kernel->facts->param_count; i++) {
        const struct slot *slot = &kernel->slots[i];
        if (!slot->set) {
            struct misuse misuse = {.what = ADRENO_MISUSE_ARGUMENT_NOT_SET, .kernel = kernel->facts->name};
            char tried[96] = "";
            if (slot->refused)
                snprintf(tried, sizeof tried, " (call %u that sets it gives %s, %d)", slot->refused_call, error_name(slot->refused),
                         slot->refused);
            note_misuse(misuse, "argument %u (%s) of %s was never set%s, and nothing is launched", i, kernel->facts->params[i].name,
                        kernel->facts->name, tried);
            tell_misuses();
            return CL_INVALID_KERNEL_ARGS;
        }
        size_t bytes = slot->kind == ADRENO_ARGUMENT_VALUE ? slot->bytes : slot->kind == ADRENO_ARGUMENT_NULL ? 0 : 8;
        if (slot->kind == ADRENO_ARGUMENT_SHARED) bytes = 16;
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
        if (slot->kind == ADRENO_ARGUMENT_SHARED) put_u64(body, slot->bytes);
        if (!slot->object) continue;
        if (!memory_lives(slot->object) || object_serial(slot->object) != slot->serial)
            return refuse_call(CL_INVALID_KERNEL_ARGS, kernel->facts->name, "argument %u (%s) of %s was released", i,
                               kernel->facts->params[i].name, kernel->facts->name);
        held[(*held_count)++] = (struct object *)slot->object;
    }
    for (uint32_t i = 0; i < kernel->reached_count; i++) {
        const struct reached *reached = &kernel->reached[i];
        if (!memory_lives(reached->object) || object_serial(reached->object) != reached->serial)
            return refuse_call(CL_INVALID_OPERATION, kernel->facts->name, "shared memory that clSetKernelExecInfo named was freed");
        put_u32(body, ADRENO_ARGUMENT_REACHED);
        put_u32(body, 8);
        put_u64(body, reached->number);
        held[(*held_count)++] = (struct object *)reached->object;
    }
    cl_ulong room = device_number(kernel->program->link, CL_DEVICE_LOCAL_MEM_SIZE);
    if (local <= room) return CL_SUCCESS;
    return refuse_call(CL_OUT_OF_RESOURCES, kernel->facts->name, "%llu bytes of local memory: the device has %llu",
                       (unsigned long long)local, (unsigned long long)room);
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
        .program = program->number, .kernel = kernel->place, .dimensions = dimensions, .count = kernel->facts->param_count + kernel->reached_count,
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
