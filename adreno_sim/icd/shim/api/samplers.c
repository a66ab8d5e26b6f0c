/* Samplers. */
#include "common.h"

static void end_sampler(struct object *object) {
    struct sampler *sampler = (struct sampler *)object;
    free(sampler->list);
    object_drop(sampler->context);
}

static struct context *context_of_sampler(const struct object *object) { return ((const struct sampler *)object)->context; }

static const struct object_class sampler_class = {SAMPLER, sizeof(struct sampler), end_sampler, context_of_sampler, NULL};

static cl_int check_settings(cl_bool normalized, cl_uint addressing, cl_uint filter) {
    if (normalized > CL_TRUE)
        return refuse_call(CL_INVALID_VALUE, NULL, "normalized coordinates %u: expected CL_TRUE (1) or CL_FALSE (0)", normalized);
    if (addressing < CL_ADDRESS_NONE || addressing > CL_ADDRESS_MIRRORED_REPEAT)
        return refuse_call(CL_INVALID_VALUE, NULL, "addressing mode 0x%x: OpenCL expects CL_ADDRESS_NONE (0x1130), CLAMP_TO_EDGE, CLAMP, REPEAT "
                                                   "or MIRRORED_REPEAT (0x1134)", addressing);
    if (filter != CL_FILTER_NEAREST && filter != CL_FILTER_LINEAR)
        return refuse_call(CL_INVALID_VALUE, NULL, "filter mode 0x%x: OpenCL expects CL_FILTER_NEAREST (0x1140) or CL_FILTER_LINEAR (0x1141)",
                           filter);
    return CL_SUCCESS;
}

/* Reads a list of properties into `found`, which holds the defaults. */
static cl_int read_properties(const cl_properties *properties, cl_uint found[3]) {
    static const char *const names[] = {"CL_SAMPLER_NORMALIZED_COORDS", "CL_SAMPLER_ADDRESSING_MODE", "CL_SAMPLER_FILTER_MODE"};
    bool seen[3] = {false};
    for (const cl_properties *at = properties; at && *at; at += 2) {
        if (at[0] >= CL_SAMPLER_MIP_FILTER_MODE && at[0] <= CL_SAMPLER_LOD_MAX)
            return refuse_call(CL_INVALID_VALUE, NULL, "property 0x%llx is of samplers of mipmaps, which the device does not have "
                                                       "(cl_khr_mipmap_image); leave it out", (unsigned long long)at[0]);
        if (at[0] < CL_SAMPLER_NORMALIZED_COORDS || at[0] > CL_SAMPLER_FILTER_MODE)
            return refuse_call(CL_INVALID_VALUE, NULL, "property 0x%llx: OpenCL expects CL_SAMPLER_NORMALIZED_COORDS (0x1152), "
                                                       "ADDRESSING_MODE, FILTER_MODE, or 0 at the end of the list", (unsigned long long)at[0]);
        size_t place = at[0] - CL_SAMPLER_NORMALIZED_COORDS;
        if (seen[place]) return refuse_call(CL_INVALID_VALUE, NULL, "property %s is in the list twice: OpenCL expects it once", names[place]);
        if (at[1] > UINT32_MAX)
            return refuse_call(CL_INVALID_VALUE, NULL, "property %s is 0x%llx: expected a value of 32 bits", names[place],
                               (unsigned long long)at[1]);
        seen[place] = true;
        found[place] = (cl_uint)at[1];
    }
    return CL_SUCCESS;
}

static cl_sampler make_sampler(cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter,
                               const cl_properties *list, cl_int *error, void *made_at) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    cl_int wrong = check_settings(normalized, addressing, filter);
    if (wrong) return fail(error, wrong);
    if (!device_number(context->link, CL_DEVICE_IMAGE_SUPPORT)) return fail(error, CL_INVALID_OPERATION);
    count_call();
    struct sampler *made = object_new(&sampler_class, 1, made_at);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    made->context = context;
    object_hold(context);
    made->normalized = normalized;
    made->addressing = addressing;
    made->filter = filter;
    long count = copy_list(list, &made->list);
    made->list_count = count > 0 ? (size_t)count : 0;
    return succeed(error, made);
}

cl_sampler API(clCreateSampler)(cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter, cl_int *error) {
    return make_sampler(context, normalized, addressing, filter, NULL, error, CALLER);
}

cl_sampler API(clCreateSamplerWithProperties)(cl_context context, const cl_properties *properties, cl_int *error) {
    cl_uint found[3] = {CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST};
    cl_int wrong = object_is(context, CONTEXT) ? read_properties(properties, found) : CL_INVALID_CONTEXT;
    if (wrong) return fail(error, wrong);
    return make_sampler(context, found[0], found[1], found[2], properties, error, CALLER);
}

cl_int API(clRetainSampler)(cl_sampler sampler) { return object_retain(sampler, SAMPLER, CL_INVALID_SAMPLER); }
cl_int API(clReleaseSampler)(cl_sampler sampler) { return object_release(sampler, SAMPLER, CL_INVALID_SAMPLER); }

cl_int API(clGetSamplerInfo)(cl_sampler sampler, ANSWER) {
    if (!object_is(sampler, SAMPLER)) return CL_INVALID_SAMPLER;
    switch (name) {
    case CL_SAMPLER_REFERENCE_COUNT: GIVE(cl_uint, users(sampler));
    case CL_SAMPLER_CONTEXT: GIVE(cl_context, sampler->context);
    case CL_SAMPLER_NORMALIZED_COORDS: GIVE(cl_bool, sampler->normalized);
    case CL_SAMPLER_ADDRESSING_MODE: GIVE(cl_uint, sampler->addressing);
    case CL_SAMPLER_FILTER_MODE: GIVE(cl_uint, sampler->filter);
    case CL_SAMPLER_PROPERTIES: return give(size, value, size_ret, sampler->list, sampler->list_count * sizeof *sampler->list);
    default: return CL_INVALID_VALUE;
    }
}
