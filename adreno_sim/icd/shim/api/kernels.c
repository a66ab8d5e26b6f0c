/* Kernel objects: made, copied, and queries. */
#include "programs.h"

static void end_kernel(struct object *object) {
    struct kernel *kernel = (struct kernel *)object;
    for (uint32_t i = 0; kernel->slots && i < kernel->facts->param_count; i++) free(kernel->slots[i].many);
    free(kernel->slots);
    free(kernel->reached);
    atomic_fetch_sub(&kernel->program->attached, 1);
    object_drop(kernel->program);
}

static struct context *context_of_kernel(const struct object *object) { return ((const struct kernel *)object)->program->context; }

static const struct object_class kernel_class = {KERNEL, sizeof(struct kernel), end_kernel, context_of_kernel, NULL};

static struct kernel *make_kernel(struct program *program, uint32_t place, void *made_at) {
    count_call();
    struct kernel *made = object_new(&kernel_class, 1, made_at);
    if (!made) return NULL;
    made->program = program;
    made->place = place;
    made->facts = &program->kernels[place];
    object_hold(program);
    atomic_fetch_add(&program->attached, 1);
    if ((made->slots = calloc(made->facts->param_count + 1, sizeof *made->slots))) return made;
    object_release(made, KERNEL, 0);
    return NULL;
}

static bool is_executable(const struct program *program) {
    return program->number && program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
}

cl_kernel API(clCreateKernel)(cl_program program, const char *name, cl_int *error) {
    if (!object_is(program, PROGRAM)) return fail(error, CL_INVALID_PROGRAM);
    if (!name) return fail(error, CL_INVALID_VALUE);
    if (!is_executable(program))
        return fail(error, refuse_call(CL_INVALID_PROGRAM_EXECUTABLE, NULL, "kernel %.64s of a program that was not built", name));
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        if (strcmp(program->kernels[i].name, name)) continue;
        struct kernel *made = make_kernel(program, i, CALLER);
        return made ? succeed(error, made) : fail(error, CL_OUT_OF_HOST_MEMORY);
    }
    return fail(error, refuse_call(CL_INVALID_KERNEL_NAME, NULL, "the program has no kernel %.64s", name));
}

cl_int API(clCreateKernelsInProgram)(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *found) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    if (!is_executable(program)) return CL_INVALID_PROGRAM_EXECUTABLE;
    if (kernels && count < program->kernel_count) return CL_INVALID_VALUE;
    if (found) *found = program->kernel_count;
    for (uint32_t i = 0; kernels && i < program->kernel_count; i++) {
        if ((kernels[i] = make_kernel(program, i, CALLER))) continue;
        while (i) object_release(kernels[--i], KERNEL, 0);
        return CL_OUT_OF_HOST_MEMORY;
    }
    return CL_SUCCESS;
}

cl_kernel API(clCloneKernel)(cl_kernel kernel, cl_int *error) {
    if (!object_is(kernel, KERNEL)) return fail(error, CL_INVALID_KERNEL);
    struct kernel *made = make_kernel(kernel->program, kernel->place, CALLER);
    for (uint32_t i = 0; made && i < made->facts->param_count; i++) {
        struct slot *slot = &made->slots[i];
        *slot = kernel->slots[i];
        if (!slot->many) continue;
        if (!(slot->many = malloc(slot->bytes))) {
            object_release(made, KERNEL, 0);
            made = NULL;
        } else {
            memcpy(slot->many, kernel->slots[i].many, slot->bytes);
        }
    }
    size_t bytes = kernel->reached_count * sizeof *kernel->reached;
    if (made && bytes && (made->reached = malloc(bytes))) {
        memcpy(made->reached, kernel->reached, bytes);
        made->reached_count = kernel->reached_count;
    } else if (made && bytes) {
        object_release(made, KERNEL, 0);
        made = NULL;
    }
    return made ? succeed(error, made) : fail(error, CL_OUT_OF_HOST_MEMORY);
}

cl_int API(clRetainKernel)(cl_kernel kernel) { return object_retain(kernel, KERNEL, CL_INVALID_KERNEL); }
cl_int API(clReleaseKernel)(cl_kernel kernel) { return object_release(kernel, KERNEL, CL_INVALID_KERNEL); }

cl_int API(clGetKernelInfo)(cl_kernel kernel, ANSWER) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    switch (name) {
    case CL_KERNEL_FUNCTION_NAME: GIVE_TEXT(kernel->facts->name);
    case CL_KERNEL_NUM_ARGS: GIVE(cl_uint, kernel->facts->param_count);
    case CL_KERNEL_REFERENCE_COUNT: GIVE(cl_uint, users(kernel));
    case CL_KERNEL_CONTEXT: GIVE(cl_context, kernel->program->context);
    case CL_KERNEL_PROGRAM: GIVE(cl_program, kernel->program);
    case CL_KERNEL_ATTRIBUTES: GIVE_TEXT(kernel->facts->attributes);
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clGetKernelArgInfo)(cl_kernel kernel, cl_uint place, ANSWER) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (place >= kernel->facts->param_count) return CL_INVALID_ARG_INDEX;
    if (kernel->program->source && !strstr(kernel->program->options, "-cl-kernel-arg-info")) return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    const struct param *param = &kernel->facts->params[place];
    switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER: GIVE(cl_uint, param->address);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER: GIVE(cl_uint, param->access);
    case CL_KERNEL_ARG_TYPE_QUALIFIER: GIVE(cl_bitfield, param->qualifier);
    case CL_KERNEL_ARG_TYPE_NAME:
        if (!*param->type) return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
        GIVE_TEXT(param->type);
    case CL_KERNEL_ARG_NAME:
        if (!*param->name) return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
        GIVE_TEXT(param->name);
    default: return CL_INVALID_VALUE;
    }
}

/* Local memory of the kernel itself and of the arguments that are set. */
static cl_ulong local_bytes(const struct kernel *kernel) {
    cl_ulong bytes = kernel->facts->local_bytes;
    for (uint32_t i = 0; i < kernel->facts->param_count; i++)
        if (kernel->slots[i].set && kernel->slots[i].kind == ADRENO_ARGUMENT_LOCAL) bytes += kernel->slots[i].bytes;
    return bytes;
}

size_t largest_group(const struct kernel *kernel) {
    struct link *link = kernel->program->link;
    uint32_t known = atomic_load(&kernel->facts->largest);
    if (known) return known;
    if (kernel->facts->sure >= device_size(link, CL_DEVICE_MAX_WORK_GROUP_SIZE, 0)) return kernel->facts->sure;
    struct bytes request = {0}, reply;
    put_u32(&request, kernel->program->number);
    put_u32(&request, kernel->place);
    cl_int status = link_request(link, ADRENO_REQUEST_GROUP_LIMIT, &request, &reply);
    struct reader from = {reply.data, reply.data + reply.size, false};
    if (!status) known = get_u32(&from);
    free(reply.data);
    if (status || from.failed) return kernel->facts->sure;
    atomic_store(&kernel->facts->largest, known);
    return known;
}

cl_int API(clGetKernelWorkGroupInfo)(cl_kernel kernel, cl_device_id device, ANSWER) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (device && device != &the_device) return CL_INVALID_DEVICE;
    const struct facts *facts = kernel->facts;
    size_t required[3] = {facts->required[0], facts->required[1], facts->required[2]};
    switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE: GIVE(size_t, largest_group(kernel));
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: return give(size, value, size_ret, required, sizeof required);
    case CL_KERNEL_LOCAL_MEM_SIZE: GIVE(cl_ulong, local_bytes(kernel));
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: GIVE(size_t, facts->multiple);
    case CL_KERNEL_PRIVATE_MEM_SIZE: GIVE(cl_ulong, facts->private_bytes);
    default: return CL_INVALID_VALUE; /* CL_KERNEL_GLOBAL_WORK_SIZE too: of custom devices and built-in kernels */
    }
}

static cl_int give_local_size(const struct kernel *kernel, size_t groups, size_t size, void *value, size_t *size_ret) {
    size_t sizes[3] = {groups * kernel->facts->sub_group, 1, 1};
    if (size % sizeof *sizes || (value && !size) || size > sizeof sizes) return CL_INVALID_VALUE;
    if (sizes[0] > largest_group(kernel)) memset(sizes, 0, sizeof sizes);
    return give(size, value, size_ret, sizes, value ? size : sizeof sizes);
}

cl_int API(clGetKernelSubGroupInfo)(cl_kernel kernel, cl_device_id device, cl_uint asked, size_t input_size, const void *input,
                                    size_t size, void *value, size_t *size_ret) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (device && device != &the_device) return CL_INVALID_DEVICE;
    const struct facts *facts = kernel->facts;
    size_t lanes = facts->sub_group, items = 1, words[3] = {1, 1, 1};
    if (!lanes) return CL_INVALID_OPERATION; /* the device has no sub-groups */
    bool takes_sizes = asked == CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE || asked == CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE;
    if (takes_sizes || asked == CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT) {
        size_t most = takes_sizes ? sizeof words : sizeof *words;
        if (!input || !input_size || input_size > most || input_size % sizeof *words) return CL_INVALID_VALUE;
        memcpy(words, input, input_size);
        items = words[0] * words[1] * words[2];
    }
    switch (asked) {
    case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE: GIVE(size_t, items < lanes && items ? items : lanes);
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE: GIVE(size_t, (items + lanes - 1) / lanes);
    case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT: return give_local_size(kernel, words[0], size, value, size_ret);
    case CL_KERNEL_MAX_NUM_SUB_GROUPS: GIVE(size_t, (largest_group(kernel) + lanes - 1) / lanes);
    case CL_KERNEL_COMPILE_NUM_SUB_GROUPS: GIVE(size_t, 0);
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clGetKernelSubGroupInfoKHR)(cl_kernel kernel, cl_device_id device, cl_uint asked, size_t input_size,
                                       const void *input, size_t size, void *value, size_t *size_ret) {
    return API(clGetKernelSubGroupInfo)(kernel, device, asked, input_size, input, size, value, size_ret);
}
