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
    cl_bitfield most = device_number(context->link, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
    if (properties & ~most)
        return fail(error, refuse_call(CL_INVALID_QUEUE_PROPERTIES, NULL,
                                       "queue properties 0x%llx: the device has 0x%llx (CL_DEVICE_QUEUE_ON_HOST_PROPERTIES)",
                                       (unsigned long long)properties, (unsigned long long)most));
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

#define ON_HOST (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
#define ON_DEVICE (CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT)

static cl_int refuse_bits(cl_bitfield bits, cl_bitfield others) {
    return refuse_call(CL_INVALID_VALUE, NULL, "queue properties 0x%llx: 0x%llx is not one of CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE (1) and "
                                               "CL_QUEUE_PROFILING_ENABLE (2), which this function takes", (unsigned long long)bits,
                       (unsigned long long)others);
}

/* The bits of CL_QUEUE_PROPERTIES, and whether there is a CL_QUEUE_SIZE. */
static cl_int check_bits(cl_bitfield bits, bool has_size) {
    if (bits & ~(cl_bitfield)(ON_HOST | ON_DEVICE)) return refuse_bits(bits, bits & ~(cl_bitfield)(ON_HOST | ON_DEVICE));
    if (bits & CL_QUEUE_ON_DEVICE_DEFAULT && !(bits & CL_QUEUE_ON_DEVICE))
        return refuse_call(CL_INVALID_VALUE, NULL, "CL_QUEUE_ON_DEVICE_DEFAULT without CL_QUEUE_ON_DEVICE: OpenCL expects both");
    if (bits & CL_QUEUE_ON_DEVICE && !(bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return refuse_call(CL_INVALID_VALUE, NULL, "CL_QUEUE_ON_DEVICE without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE: OpenCL expects both");
    if (has_size && !(bits & CL_QUEUE_ON_DEVICE))
        return refuse_call(CL_INVALID_VALUE, NULL, "CL_QUEUE_SIZE without CL_QUEUE_ON_DEVICE: OpenCL has no size of other queues; leave it out");
    if (!(bits & CL_QUEUE_ON_DEVICE)) return CL_SUCCESS;
    return refuse_call(CL_INVALID_QUEUE_PROPERTIES, NULL, "CL_QUEUE_ON_DEVICE: the device has no queues of its own "
                                                          "(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES); enqueue from the host");
}

static cl_int read_properties(const cl_properties *properties, cl_bitfield *bits) {
    bool seen = false, has_size = false;
    for (const cl_properties *at = properties; at && *at; at += 2) {
        bool is_size = at[0] == CL_QUEUE_SIZE, *before = is_size ? &has_size : &seen;
        if (!is_size && at[0] != CL_QUEUE_PROPERTIES)
            return refuse_call(CL_INVALID_VALUE, NULL, "property 0x%llx: expected CL_QUEUE_PROPERTIES (0x1093), CL_QUEUE_SIZE, or 0 at the end "
                                                       "of the list; the device has no priorities of queues", (unsigned long long)at[0]);
        if (*before)
            return refuse_call(CL_INVALID_VALUE, NULL, "property %s is in the list twice: expected it once, with all its bits",
                               is_size ? "CL_QUEUE_SIZE" : "CL_QUEUE_PROPERTIES");
        *before = true;
        if (!is_size) *bits = at[1];
    }
    return check_bits(*bits, has_size);
}

cl_command_queue API(clCreateCommandQueue)(cl_context context, cl_device_id device, cl_bitfield properties, cl_int *error) {
    cl_bitfield others = object_is(context, CONTEXT) ? properties & ~(cl_bitfield)ON_HOST : 0;
    if (others) return fail(error, refuse_bits(properties, others));
    return make_queue(context, device, properties, NULL, error, CALLER);
}

cl_command_queue API(clCreateCommandQueueWithProperties)(cl_context context, cl_device_id device, const cl_properties *properties,
                                                         cl_int *error) {
    cl_bitfield bits = 0;
    cl_int wrong = object_is(context, CONTEXT) ? read_properties(properties, &bits) : CL_INVALID_CONTEXT;
    return wrong ? fail(error, wrong) : make_queue(context, device, bits, properties, error, CALLER);
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
    if (!object_is(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    return refuse_call(CL_INVALID_OPERATION, NULL, "OpenCL 1.1 withdrew this function: give the properties when the queue is made");
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
