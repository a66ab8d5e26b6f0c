/* Events: waiting, queries, user events, callbacks, times. */
#include "common.h"

cl_int API(clRetainEvent)(cl_event event) { return object_retain(event, EVENT, CL_INVALID_EVENT); }
cl_int API(clReleaseEvent)(cl_event event) { return object_release(event, EVENT, CL_INVALID_EVENT); }

cl_event API(clCreateUserEvent)(cl_context context, cl_int *error) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    if (link_lost(context->link)) return fail(error, CL_DEVICE_NOT_AVAILABLE);
    count_call();
    struct event *made = new_event(context, 1);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    made->type = CL_COMMAND_USER;
    atomic_store(&made->status, CL_SUBMITTED);
    return succeed(error, made);
}

cl_int API(clSetUserEventStatus)(cl_event event, cl_int status) {
    if (!object_is(event, EVENT) || event->queue) return CL_INVALID_EVENT;
    if (status > CL_COMPLETE) return CL_INVALID_VALUE;
    return set_user_event(event, status) ? refuse_call(CL_INVALID_OPERATION, NULL, "the event has a status already") : CL_SUCCESS;
}

cl_int API(clWaitForEvents)(cl_uint count, const cl_event *events) {
    if (!count || !events) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++) {
        if (!object_is(events[i], EVENT)) return CL_INVALID_EVENT;
        if (events[i]->context != events[0]->context) return CL_INVALID_CONTEXT;
    }
    for (cl_uint i = 0; i < count; i++)
        if (events[i]->queue) flush_queue(events[i]->queue); /* all of them, before it waits for any */
    cl_int result = CL_SUCCESS;
    for (cl_uint i = 0; i < count; i++)
        if (wait_event(events[i]) < 0) result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return link_lost(events[0]->link) && result ? CL_DEVICE_NOT_AVAILABLE : result;
}

cl_int API(clGetEventInfo)(cl_event event, ANSWER) {
    if (!object_is(event, EVENT)) return CL_INVALID_EVENT;
    switch (name) {
    case CL_EVENT_COMMAND_QUEUE: GIVE(cl_command_queue, event->queue);
    case CL_EVENT_COMMAND_TYPE: GIVE(cl_uint, event->type);
    case CL_EVENT_REFERENCE_COUNT: GIVE(cl_uint, users(event));
    case CL_EVENT_COMMAND_EXECUTION_STATUS: GIVE(cl_int, event_status(event));
    case CL_EVENT_CONTEXT: GIVE(cl_context, event->context);
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clGetEventProfilingInfo)(cl_event event, ANSWER) {
    if (!object_is(event, EVENT)) return CL_INVALID_EVENT;
    if (!event->queue || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE)) return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (event_status(event) != CL_COMPLETE) return CL_PROFILING_INFO_NOT_AVAILABLE;
    switch (name) {
    case CL_PROFILING_COMMAND_QUEUED: GIVE(cl_ulong, event->queued);
    case CL_PROFILING_COMMAND_SUBMIT: GIVE(cl_ulong, event->submitted);
    case CL_PROFILING_COMMAND_START: GIVE(cl_ulong, event->started);
    case CL_PROFILING_COMMAND_END:
    case CL_PROFILING_COMMAND_COMPLETE: GIVE(cl_ulong, event->ended);
    default: return CL_INVALID_VALUE;
    }
}

cl_int API(clSetEventCallback)(cl_event event, cl_int status, event_notice notice, void *data) {
    if (!object_is(event, EVENT)) return CL_INVALID_EVENT;
    if (!notice || status < CL_COMPLETE || status > CL_SUBMITTED) return CL_INVALID_VALUE;
    return add_event_callback(event, status, notice, data);
}
