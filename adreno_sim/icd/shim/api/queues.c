/* Command queues, markers and barriers. */
#include "common.h"

static void end_queue(struct object *object) {
    struct queue *queue = (struct queue *)object;
    free(queue->list);
    object_drop(queue->context);
}

static struct context *context_of_queue(const struct object *object) { return ((const struct queue *)object)->context; }

static const struct object_class queue_class = {QUEUE, sizeof(struct queue), end_queue, context_of_queue, NULL};

static cl_command_queue make_queue(cl_context context, cl_device_id device, cl_bitfield properties, const cl_properties *list,
                                   cl_int *error, void *made_at) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    if (device != &the_device) return fail(error, CL_INVALID_DEVICE);
    if (properties & ~device_number(context->link, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES))
        return fail(error, CL_INVALID_QUEUE_PROPERTIES);
    if (!link_check(context->link)) return fail(error, CL_DEVICE_NOT_AVAILABLE);
    count_call();
    struct queue *made = object_new(&queue_class, 1, made_at);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    long count = copy_list(list, &made->list);
    made->list_count = count > 0 ? (size_t)count : 0;
    made->context = context;
    object_hold(context);
    made->properties = properties;
    made->number = atomic_fetch_add(&context->link->queues, 1) + 1;
    tell_queue(made);
    return succeed(error, made);
}

cl_command_queue API(clCreateCommandQueue)(cl_context context, cl_device_id device, cl_bitfield properties, cl_int *error) {
    if (properties & ~(cl_bitfield)(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE))
        return fail(error, CL_INVALID_VALUE);
    return make_queue(context, device, properties, NULL, error, CALLER);
}

cl_command_queue API(clCreateCommandQueueWithProperties)(cl_context context, cl_device_id device, const cl_properties *properties,
                                                         cl_int *error) {
    const cl_bitfield on_device = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;
    cl_bitfield bits = 0;
    bool seen = false;
    for (const cl_properties *at = properties; at && *at; at += 2) {
        if (at[0] == CL_QUEUE_SIZE) return fail(error, CL_INVALID_QUEUE_PROPERTIES); /* of a queue on the device */
        if (at[0] != CL_QUEUE_PROPERTIES || seen) return fail(error, CL_INVALID_VALUE);
        bits = at[1];
        seen = true;
        if (bits & ~(on_device | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE))
            return fail(error, CL_INVALID_VALUE);
    }
    if (bits & on_device && object_is(context, CONTEXT)) return fail(error, CL_INVALID_QUEUE_PROPERTIES);
    return make_queue(context, device, bits, properties, error, CALLER);
}

cl_int API(clRetainCommandQueue)(cl_command_queue queue) { return object_retain(queue, QUEUE, CL_INVALID_COMMAND_QUEUE); }
cl_int API(clReleaseCommandQueue)(cl_command_queue queue) {
    if (object_is(queue, QUEUE) && users(queue)) flush_queue(queue);
    return object_release(queue, QUEUE, CL_INVALID_COMMAND_QUEUE);
}

cl_int API(clGetCommandQueueInfo)(cl_command_queue queue, ANSWER) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    switch (name) {
    case CL_QUEUE_CONTEXT: GIVE(cl_context, queue->context);
    case CL_QUEUE_DEVICE: GIVE(cl_device_id, &the_device);
    case CL_QUEUE_REFERENCE_COUNT: GIVE(cl_uint, users(queue));
    case CL_QUEUE_PROPERTIES: GIVE(cl_bitfield, queue->properties);
    case CL_QUEUE_SIZE: return CL_INVALID_COMMAND_QUEUE; /* asked of queues on the device only */
    case CL_QUEUE_DEVICE_DEFAULT: GIVE(cl_command_queue, NULL);
    case CL_QUEUE_PROPERTIES_ARRAY: return give(size, value, size_ret, queue->list, queue->list_count * sizeof *queue->list);
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clSetCommandQueueProperty)(cl_command_queue queue, cl_bitfield properties, cl_bool enable, cl_bitfield *before) {
    (void)properties, (void)enable, (void)before;
    return object_is(queue, QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE; /* withdrawn in OpenCL 1.1 */
}

cl_int API(clFlush)(cl_command_queue queue) { /* commands are handed over as they are enqueued */
    cl_int error = check_enqueue(queue, 0, NULL);
    if (!error) flush_queue(queue);
    return error;
}

cl_int API(clFinish)(cl_command_queue queue) {
    cl_int error = check_enqueue(queue, 0, NULL);
    if (error) return error;
    cl_int failed = wait_queue(queue);
    return failed == CL_DEVICE_NOT_AVAILABLE || !failed ? failed : CL_OUT_OF_RESOURCES;
}

static cl_int mark(cl_command_queue queue, cl_uint type, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    struct command command = {.queue = queue, .type = type, .kind = ADRENO_COMMAND_NOTHING};
    command.barrier = type == CL_COMMAND_BARRIER;
    command.all_before = !wait_count;
    uint64_t flags = (command.all_before ? ADRENO_MARK_ALL_BEFORE : 0) | (command.barrier ? ADRENO_MARK_BARRIER : 0);
    command.body = &flags;
    command.body_size = sizeof flags;
    return enqueue(&command, wait_count, waits, event, false);
}

cl_int API(clEnqueueMarkerWithWaitList)(cl_command_queue queue, WAITS) {
    return mark(queue, CL_COMMAND_MARKER, wait_count, waits, event);
}

cl_int API(clEnqueueBarrierWithWaitList)(cl_command_queue queue, WAITS) {
    return mark(queue, CL_COMMAND_BARRIER, wait_count, waits, event);
}

cl_int API(clEnqueueMarker)(cl_command_queue queue, cl_event *event) {
    if (!event) return object_is(queue, QUEUE) ? CL_INVALID_VALUE : CL_INVALID_COMMAND_QUEUE;
    return mark(queue, CL_COMMAND_MARKER, 0, NULL, event);
}

cl_int API(clEnqueueBarrier)(cl_command_queue queue) { return mark(queue, CL_COMMAND_BARRIER, 0, NULL, NULL); }

cl_int API(clEnqueueWaitForEvents)(cl_command_queue queue, cl_uint count, const cl_event *events) {
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    if (!count || !events) return CL_INVALID_VALUE;
    cl_int error = mark(queue, CL_COMMAND_BARRIER, count, events, NULL);
    return error == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : error;
}
