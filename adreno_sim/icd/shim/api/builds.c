/* Building, compiling and linking programs. */
#include "programs.h"

static void free_kernels(struct program *program) {
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        struct facts *facts = &program->kernels[i];
        for (uint32_t j = 0; j < facts->param_count; j++) {
            free(facts->params[j].name);
            free(facts->params[j].type);
        }
        free(facts->params);
        free(facts->name);
        free(facts->attributes);
    }
    free(program->kernels);
    program->kernels = NULL;
    program->kernel_count = 0;
}

void forget_build(struct program *program) {
    forget_program(program->link, program->number);
    program->number = 0;
    free_kernels(program);
    free(program->options);
    free(program->log);
    program->options = program->log = NULL;
}

static bool read_param(struct reader *from, struct param *param) {
    param->kind = get_u32(from);
    param->bytes = get_u32(from);
    param->address = get_u32(from);
    param->access = get_u32(from);
    param->qualifier = get_u32(from);
    param->name = get_text(from);
    param->type = get_text(from);
    return param->name && param->type && !from->failed;
}

static bool read_facts(struct reader *from, struct facts *facts) {
    facts->name = get_text(from);
    facts->attributes = get_text(from);
    facts->local_bytes = get_u64(from);
    facts->private_bytes = get_u64(from);
    for (unsigned i = 0; i < 3; i++) facts->required[i] = get_u32(from);
    facts->sure = get_u32(from);
    facts->multiple = get_u32(from);
    facts->sub_group = get_u32(from);
    uint32_t count = get_u32(from);
    if (from->failed || count > (size_t)(from->end - from->at) || !facts->name || !facts->attributes) return false;
    if (!(facts->params = calloc(count + 1, sizeof *facts->params))) return false;
    while (facts->param_count < count)
        if (!read_param(from, &facts->params[facts->param_count++])) return false;
    return true;
}

static bool read_kernels(struct program *program, struct reader *from) {
    uint32_t count = get_u32(from);
    if (from->failed || count > (size_t)(from->end - from->at)) return false;
    if (!(program->kernels = calloc(count + 1, sizeof *program->kernels))) return false;
    while (program->kernel_count < count)
        if (!read_facts(from, &program->kernels[program->kernel_count++])) return false;
    return true;
}

cl_int take_build(struct program *program, cl_int status, uint32_t number, cl_uint type, struct bytes *reply, cl_int failure) {
    struct reader from = {reply->data, reply->data + reply->size, false};
    if (!status) {
        program->log = get_text(&from);
        if (!read_kernels(program, &from)) {
            forget_program(program->link, number);
            free_kernels(program);
            status = CL_OUT_OF_RESOURCES;
        }
    } else if (reply->data) {
        program->log = strdup((const char *)reply->data);
    }
    program->status = status ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
    program->number = status ? 0 : number;
    program->type = status ? CL_PROGRAM_BINARY_TYPE_NONE : type;
    free(reply->data);
    *reply = (struct bytes){0};
    bool failed = status == CL_BUILD_PROGRAM_FAILURE || status == CL_COMPILE_PROGRAM_FAILURE || status == CL_LINK_PROGRAM_FAILURE;
    if (status && program->log)
        refuse_call(status, NULL, "%.*s", (int)strcspn(program->log, "\n"), program->log);
    return failed ? failure : status;
}

/* Groups must divide the NDRange in OpenCL C 1.x, which a program without -cl-std also is, and where that is asked for. */
static bool is_uniform(const char *options) {
    const char *standard = strstr(options, "-cl-std=CL");
    if (strstr(options, "-cl-uniform-work-group-size")) return true;
    return !standard || standard[10] == '1';
}

static cl_int check_build(cl_program program, DEVICES, program_notice notice, void *data) {
    if (!object_is(program, PROGRAM)) return CL_INVALID_PROGRAM;
    if (!devices != !device_count || (!notice && data)) return CL_INVALID_VALUE;
    if (!valid_devices(device_count, devices)) return CL_INVALID_DEVICE;
    if (link_lost(program->link)) return CL_DEVICE_NOT_AVAILABLE;
    return CL_SUCCESS;
}

/* Tells the end of a build: at once, or by the notice, which says nothing of success. */
static cl_int tell(cl_program program, cl_int status, cl_int failure, program_notice notice, void *data) {
    if (status) entered.error = status;
    if (!notice) return status;
    call_later(program->link, (void (*)(void *, void *))(void *)notice, program, data);
    return status == failure ? CL_SUCCESS : status;
}

/* Follows the program's recipe. */
static cl_int follow_own(struct program *program, const char *options, cl_uint type, cl_int failure) {
    uint32_t number = 0;
    struct bytes reply = {0};
    forget_build(program);
    program->options = strdup(options);
    program->uniform = is_uniform(options);
    const struct bytes *recipe = &program->recipe;
    cl_int status = CL_OUT_OF_HOST_MEMORY;
    if (!recipe->failed) status = follow_recipe(program->link, recipe->data, recipe->size, &number, &reply);
    return take_build(program, status, number, type, &reply, failure);
}

/* The recipe of an executable from one that is compiled only. */
static void link_alone(struct program *program, const char *options) {
    struct bytes part = program->recipe, parts = {0};
    put_block(&parts, part.data, part.size);
    program->recipe = (struct bytes){0};
    begin_recipe(&program->recipe, LINK_PARTS, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, options, "");
    end_recipe(&program->recipe, 0, NULL, 1, &parts);
    free(parts.data);
    free(part.data);
}

cl_int API(clBuildProgram)(cl_program program, DEVICES, const char *options, program_notice notice, void *data) {
    cl_int status = check_build(program, device_count, devices, notice, data);
    if (status) return status;
    if (atomic_load(&program->attached)) return CL_INVALID_OPERATION;
    if (!program->source && !program->recipe.size) return CL_INVALID_OPERATION;
    if (atomic_exchange(&program->building, true)) return CL_INVALID_OPERATION;
    if (!options) options = "";
    cl_uint type;
    if (program->source) {
        program->recipe.size = 0;
        begin_recipe(&program->recipe, BUILD_SOURCE, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, options, program->source);
        end_recipe(&program->recipe, 0, NULL, 0, NULL);
    } else if (is_recipe(program->recipe.data, program->recipe.size, &type) && type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE) {
        link_alone(program, options);
    }
    status = follow_own(program, options, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, CL_BUILD_PROGRAM_FAILURE);
    atomic_store(&program->building, false);
    return tell(program, status, CL_BUILD_PROGRAM_FAILURE, notice, data);
}

cl_int API(clCompileProgram)(cl_program program, DEVICES, const char *options, cl_uint header_count, const cl_program *headers,
                             const char **header_names, program_notice notice, void *data) {
    cl_int status = check_build(program, device_count, devices, notice, data);
    if (status) return status;
    if (!header_count != !headers || !header_count != !header_names) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < header_count; i++) {
        if (!object_is(headers[i], PROGRAM)) return CL_INVALID_PROGRAM;
        if (!header_names[i]) return CL_INVALID_VALUE;
        if (!headers[i]->source) return CL_INVALID_OPERATION;
    }
    if (atomic_load(&program->attached) || !program->source) return CL_INVALID_OPERATION;
    if (atomic_exchange(&program->building, true)) return CL_INVALID_OPERATION;
    struct bytes texts = {0};
    if (!options) options = "";
    for (cl_uint i = 0; i < header_count; i++) add_header(&texts, header_names[i], headers[i]->source);
    program->recipe.size = 0;
    begin_recipe(&program->recipe, COMPILE_SOURCE, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, options, program->source);
    end_recipe(&program->recipe, header_count, &texts, 0, NULL);
    free(texts.data);
    status = follow_own(program, options, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, CL_COMPILE_PROGRAM_FAILURE);
    atomic_store(&program->building, false);
    return tell(program, status, CL_COMPILE_PROGRAM_FAILURE, notice, data);
}

/* Compiles an input that came as a binary and was not built since. */
static cl_int need_number(struct program *input, cl_int *error) {
    cl_uint type;
    if (input->number) return CL_SUCCESS;
    if (input->source || !is_recipe(input->recipe.data, input->recipe.size, &type)) return *error = CL_INVALID_OPERATION;
    return *error = follow_own(input, "", type, CL_LINK_PROGRAM_FAILURE);
}

cl_program API(clLinkProgram)(cl_context context, DEVICES, const char *options, cl_uint count, const cl_program *inputs,
                              program_notice notice, void *data, cl_int *error) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    if (!devices != !device_count || (!notice && data) || !count || !inputs) return fail(error, CL_INVALID_VALUE);
    if (!valid_devices(device_count, devices)) return fail(error, CL_INVALID_DEVICE);
    for (cl_uint i = 0; i < count; i++) {
        if (!object_is(inputs[i], PROGRAM)) return fail(error, CL_INVALID_PROGRAM);
        if (inputs[i]->context != context) return fail(error, CL_INVALID_PROGRAM);
        cl_uint type = inputs[i]->type;
        if (type != CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT && type != CL_PROGRAM_BINARY_TYPE_LIBRARY)
            return fail(error, CL_INVALID_OPERATION);
    }
    if (link_lost(context->link)) return fail(error, CL_DEVICE_NOT_AVAILABLE);
    if (!options) options = "";
    struct program *made = new_program(context, CALLER);
    uint32_t *numbers = malloc(count * sizeof *numbers), number = 0;
    cl_uint type = strstr(options, "-create-library") ? CL_PROGRAM_BINARY_TYPE_LIBRARY : CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
    struct bytes parts = {0}, reply = {0};
    cl_int status = made && numbers ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    for (cl_uint i = 0; !status && i < count; i++) {
        if (need_number(inputs[i], &status)) break;
        numbers[i] = inputs[i]->number;
        put_block(&parts, inputs[i]->recipe.data, inputs[i]->recipe.size);
        made->uniform |= inputs[i]->uniform;
    }
    if (!status) {
        begin_recipe(&made->recipe, LINK_PARTS, type, options, "");
        end_recipe(&made->recipe, 0, NULL, count, &parts);
        made->options = strdup(options);
        status = request_link(context->link, options, count, numbers, &number, &reply);
        status = take_build(made, status, number, type, &reply, CL_LINK_PROGRAM_FAILURE);
        status = tell(made, status, CL_LINK_PROGRAM_FAILURE, notice, data);
    }
    free(parts.data);
    free(numbers);
    if (status && status != CL_LINK_PROGRAM_FAILURE) { /* linking did not begin: there is no program that could tell why */
        if (made) object_release(made, PROGRAM, 0);
        return fail(error, status);
    }
    entered.error = status;
    if (error) *error = status;
    return made;
}
