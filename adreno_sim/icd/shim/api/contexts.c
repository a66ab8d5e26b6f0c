/* Contexts. */
#include "common.h"

/* Counts the words of a list of properties, with the 0 at its end. Returns an error for one that is unknown, wrong or twice. */
static cl_int check_properties(const cl_words *properties, size_t *count) {
    bool platform = false, sync = false;
    *count = 0;
    if (!properties) return CL_SUCCESS;
    for (const cl_words *at = properties; *at; at += 2) {
        bool *seen = at[0] == CL_CONTEXT_PLATFORM ? &platform : at[0] == CL_CONTEXT_INTEROP_USER_SYNC ? &sync : NULL;
        if (!seen)
            return refuse_call(CL_INVALID_PROPERTY, NULL, "property 0x%llx: the device expects CL_CONTEXT_PLATFORM (0x1084), "
                                                          "CL_CONTEXT_INTEROP_USER_SYNC, or 0 at the end of the list", (unsigned long long)at[0]);
        if (*seen)
            return refuse_call(CL_INVALID_PROPERTY, NULL, "property 0x%llx is in the list twice: OpenCL expects it once",
                               (unsigned long long)at[0]);
        if (seen == &platform && (cl_platform_id)at[1] != &the_platform)
            return refuse_call(CL_INVALID_PLATFORM, NULL, "CL_CONTEXT_PLATFORM is not the platform of this driver: pass the one of the device");
        if (seen == &sync && at[1] != CL_FALSE && at[1] != CL_TRUE)
            return refuse_call(CL_INVALID_PROPERTY, NULL, "CL_CONTEXT_INTEROP_USER_SYNC is 0x%llx: expected CL_TRUE (1) or CL_FALSE (0)",
                               (unsigned long long)at[1]);
        *seen = true;
        *count += 2;
    }
    ++*count;
    return CL_SUCCESS;
}

static void end_context(struct object *object) {
    struct context *context = (struct context *)object;
    call_notices(context->destructors, context);
    free(context->properties);
}

static struct context *context_itself(const struct object *object) { return (struct context *)object; }

static const struct object_class context_class = {CONTEXT, sizeof(struct context), end_context, context_itself, NULL};

static cl_context make_context(const cl_words *properties, context_notice notice, void *data, cl_int *error, void *made_at) {
    size_t count;
    cl_int wrong = check_properties(properties, &count);
    if (wrong) return fail(error, wrong);
    if (!notice && data)
        return fail(error, refuse_call(CL_INVALID_VALUE, NULL, "user_data without a pfn_notify: OpenCL expects NULL for it"));
    struct link *link = link_current();
    if (!link || !link_check(link)) return fail(error, CL_DEVICE_NOT_AVAILABLE);
    count_call();
    struct context *made = object_new(&context_class, 1, made_at);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    made->link = link;
    made->notice = notice;
    made->notice_data = data;
    if (notice) start_caller(link);
    if (count && (made->properties = malloc(count * sizeof *properties))) {
        memcpy(made->properties, properties, count * sizeof *properties);
        made->property_count = count;
    }
    return succeed(error, made);
}

cl_context API(clCreateContext)(const cl_words *properties, DEVICES, context_notice notice, void *data, cl_int *error) {
    if (!devices || !device_count)
        return fail(error, refuse_call(CL_INVALID_VALUE, NULL, "a list of %u devices%s: expected one or more", device_count,
                                       devices ? "" : " that is NULL"));
    if (!valid_devices(device_count, devices)) return fail(error, CL_INVALID_DEVICE);
    return make_context(properties, notice, data, error, CALLER);
}

cl_context API(clCreateContextFromType)(const cl_words *properties, cl_bitfield type, context_notice notice, void *data,
                                        cl_int *error) {
    cl_int found = API(clGetDeviceIDs)(NULL, type, 0, NULL, &(cl_uint){0});
    return found ? fail(error, found) : make_context(properties, notice, data, error, CALLER);
}

cl_int API(clRetainContext)(cl_context context) { return object_retain(context, CONTEXT, CL_INVALID_CONTEXT); }
cl_int API(clReleaseContext)(cl_context context) { return object_release(context, CONTEXT, CL_INVALID_CONTEXT); }

cl_int API(clGetContextInfo)(cl_context context, ANSWER) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT: GIVE(cl_uint, users(context));
    case CL_CONTEXT_NUM_DEVICES: GIVE(cl_uint, 1);
    case CL_CONTEXT_DEVICES: GIVE(cl_device_id, &the_device);
    case CL_CONTEXT_PROPERTIES:
        return give(size, value, size_ret, context->properties, context->property_count * sizeof(cl_words));
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clSetContextDestructorCallback)(cl_context context, context_destructor notice, void *data) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    if (!notice) return CL_INVALID_VALUE;
    state_lock(context->link);
    bool added = add_notice(&context->destructors, (void (*)(void *, void *))(void *)notice, data);
    state_unlock(context->link);
    return added ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

cl_int API(clSetDefaultDeviceCommandQueue)(cl_context context, cl_device_id device, cl_command_queue queue) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    (void)queue;
    return device == &the_device ? CL_INVALID_OPERATION : CL_INVALID_DEVICE; /* no queue is on the device */
}
