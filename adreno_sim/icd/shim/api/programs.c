/* Programs: made from source or binary, and queries. */
#include "programs.h"

static void end_program(struct object *object) {
    struct program *program = (struct program *)object;
    call_notices(program->destructors, program);
    forget_build(program);
    free(program->source);
    free(program->recipe.data);
    object_drop(program->context);
}

static struct context *context_of_program(const struct object *object) { return ((const struct program *)object)->context; }

static const struct object_class program_class = {PROGRAM, sizeof(struct program), end_program, context_of_program, NULL};

struct program *new_program(struct context *context, void *made_at) {
    count_call();
    struct program *made = object_new(&program_class, 1, made_at);
    if (!made) return NULL;
    made->context = context;
    object_hold(context);
    made->link = context->link;
    made->status = CL_BUILD_NONE;
    return made;
}

cl_int API(clRetainProgram)(cl_program program) { return object_retain(program, PROGRAM, CL_INVALID_PROGRAM); }
cl_int API(clReleaseProgram)(cl_program program) { return object_release(program, PROGRAM, CL_INVALID_PROGRAM); }

cl_program API(clCreateProgramWithSource)(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                                          cl_int *error) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    if (!count || !texts) return fail(error, refuse_call(CL_INVALID_VALUE, NULL, "there are no texts"));
    for (cl_uint i = 0; i < count; i++)
        if (!texts[i]) return fail(error, refuse_call(CL_INVALID_VALUE, NULL, "text %u of %u is NULL", i, count));
    struct bytes source = {0};
    for (cl_uint i = 0; i < count; i++) put(&source, texts[i], lengths && lengths[i] ? lengths[i] : strlen(texts[i]));
    put(&source, "", 1);
    struct program *made = source.failed ? NULL : new_program(context, CALLER);
    if (!made) {
        free(source.data);
        return fail(error, CL_OUT_OF_HOST_MEMORY);
    }
    made->source = (char *)source.data;
    return succeed(error, made);
}

cl_program API(clCreateProgramWithBinary)(cl_context context, DEVICES, const size_t *lengths, const unsigned char **binaries,
                                          cl_int *statuses, cl_int *error) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    if (!devices || !device_count || !lengths || !binaries) return fail(error, CL_INVALID_VALUE);
    if (!valid_devices(device_count, devices) || device_count > 1) return fail(error, CL_INVALID_DEVICE);
    cl_int status = CL_SUCCESS;
    cl_uint type;
    if (!lengths[0] || !binaries[0])
        status = CL_INVALID_VALUE;
    else if (!is_recipe(binaries[0], lengths[0], &type))
        status = CL_INVALID_BINARY;
    if (statuses) statuses[0] = status;
    if (status) return fail(error, status);
    struct program *made = new_program(context, CALLER);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    put(&made->recipe, binaries[0], lengths[0]);
    made->type = type;
    return succeed(error, made);
}

cl_program API(clCreateProgramWithBuiltInKernels)(cl_context context, DEVICES, const char *names, cl_int *error) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    if (!devices || !device_count || !names) return fail(error, CL_INVALID_VALUE);
    if (!valid_devices(device_count, devices)) return fail(error, CL_INVALID_DEVICE);
    return fail(error, CL_INVALID_VALUE); /* the device has none */
}

cl_program API(clCreateProgramWithIL)(cl_context context, const void *il, size_t bytes, cl_int *error) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    return fail(error, il && bytes ? CL_INVALID_OPERATION : CL_INVALID_VALUE); /* CL_DEVICE_IL_VERSION is empty */
}

cl_int API(clSetProgramReleaseCallback)(cl_program program, program_notice notice, void *data) {
    (void)notice, (void)data;
    return object_is(program, PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM; /* of programs with global destructors */
}

cl_int API(clSetProgramSpecializationConstant)(cl_program program, cl_uint number, size_t size, const void *value) {
    (void)number, (void)size, (void)value;
    return object_is(program, PROGRAM) ? CL_INVALID_OPERATION : CL_INVALID_PROGRAM; /* of programs in SPIR-V */
}

static cl_int give_names(const struct program *program, size_t size, void *value, size_t *size_ret) {
    struct bytes names = {0};
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        if (i) put(&names, ";", 1);
        put(&names, program->kernels[i].name, strlen(program->kernels[i].name));
    }
    put(&names, "", 1);
    cl_int error = names.failed ? CL_OUT_OF_HOST_MEMORY : give(size, value, size_ret, names.data, names.size);
    free(names.data);
    return error;
}

static cl_int give_binary(const struct program *program, size_t size, void *value, size_t *size_ret) {
    if (value && size < sizeof(void *)) return CL_INVALID_VALUE;
    unsigned char *to = value ? *(unsigned char **)value : NULL;
    if (to && program->type) memcpy(to, program->recipe.data, program->recipe.size);
    if (size_ret) *size_ret = sizeof(void *);
    return CL_SUCCESS;
}

cl_int API(clGetProgramInfo)(cl_program program, ANSWER) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    bool executable = program->number && program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
    switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT: GIVE(cl_uint, users(program));
    case CL_PROGRAM_CONTEXT: GIVE(cl_context, program->context);
    case CL_PROGRAM_NUM_DEVICES: GIVE(cl_uint, 1);
    case CL_PROGRAM_DEVICES: GIVE(cl_device_id, &the_device);
    case CL_PROGRAM_SOURCE: GIVE_TEXT(program->source ? program->source : "");
    case CL_PROGRAM_BINARY_SIZES: GIVE(size_t, program->type ? program->recipe.size : 0);
    case CL_PROGRAM_BINARIES: return give_binary(program, size, value, size_ret);
    case CL_PROGRAM_NUM_KERNELS:
        if (!executable) return CL_INVALID_PROGRAM_EXECUTABLE;
        GIVE(size_t, program->kernel_count);
    case CL_PROGRAM_KERNEL_NAMES: return executable ? give_names(program, size, value, size_ret) : CL_INVALID_PROGRAM_EXECUTABLE;
    case CL_PROGRAM_IL: return give(size, value, size_ret, NULL, 0);
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: GIVE(cl_bool, CL_FALSE);
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clGetProgramBuildInfo)(cl_program program, cl_device_id device, ANSWER) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    if (device != &the_device) return CL_INVALID_DEVICE;
    switch (name) {
    case CL_PROGRAM_BUILD_STATUS: GIVE(cl_int, program->building ? CL_BUILD_IN_PROGRESS : program->status);
    case CL_PROGRAM_BUILD_OPTIONS: GIVE_TEXT(program->options ? program->options : "");
    case CL_PROGRAM_BUILD_LOG: GIVE_TEXT(program->log ? program->log : "");
    case CL_PROGRAM_BINARY_TYPE: GIVE(cl_uint, program->type);
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: GIVE(size_t, 0);
    default: return CL_INVALID_VALUE;
    }
}
