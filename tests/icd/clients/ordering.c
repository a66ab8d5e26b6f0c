/* Orders of commands: in and out of order, behind user events, failures, barriers, callbacks, times. */
#include "client.h"

static void test_in_order(void) {
    cl_command_queue queue = make_queue(0);
    struct list list = make_list(queue);
    int expected[300];
    for (int i = 0; i < 300; i++) append(queue, &list, expected[i] = i, 0, NULL, NULL);
    check_list(queue, &list, 300, expected);
    OK(clReleaseCommandQueue(queue));
}

static void test_user_event_holds_an_in_order_queue(void) {
    cl_command_queue queue = make_queue(0), other = make_queue(0);
    struct list list = make_list(queue);
    cl_event user = make_user_event(), second;
    append(queue, &list, 1, 1, &user, NULL);
    append(queue, &list, 2, 0, NULL, &second);
    append(other, &list, 3, 0, NULL, NULL);
    OK(clFinish(other));
    EQUAL(status_of(second), CL_QUEUED);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    EQUAL(clSetUserEventStatus(user, CL_COMPLETE), CL_INVALID_OPERATION);
    OK(clWaitForEvents(1, &second));
    check_list(queue, &list, 3, (int[]){3, 1, 2});
    release_events(2, (cl_event[]){user, second});
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseCommandQueue(other));
}

/* A waits for a user event that the host sets only after B, enqueued later, is complete. */
static void test_out_of_order_queue_does_not_deadlock(void) {
    cl_command_queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    struct list list = make_list(queue);
    cl_event user = make_user_event(), b;
    append(queue, &list, 1, 1, &user, NULL);
    append(queue, &list, 2, 0, NULL, &b);
    OK(clWaitForEvents(1, &b));
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clFinish(queue));
    check_list(queue, &list, 2, (int[]){2, 1});
    release_events(2, (cl_event[]){user, b});
    OK(clReleaseCommandQueue(queue));
}

static void test_barrier_and_marker(void) {
    cl_command_queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    struct list list = make_list(queue);
    cl_event user = make_user_event(), marker, after;
    append(queue, &list, 1, 1, &user, NULL);
    OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
    append(queue, &list, 2, 0, NULL, NULL);
    OK(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
    append(queue, &list, 3, 0, NULL, &after);
    sleep_ms(20);
    EQUAL(status_of(marker), CL_QUEUED);
    EQUAL(status_of(after), CL_QUEUED);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clWaitForEvents(2, (cl_event[]){marker, after}));
    check_list(queue, &list, 3, (int[]){2, 1, 3});
    release_events(3, (cl_event[]){user, marker, after});
    OK(clReleaseCommandQueue(queue));
}

static void test_failures_spread_along_wait_lists(void) {
    cl_command_queue queue = make_queue(0);
    struct list list = make_list(queue);
    cl_kernel fail = make_kernel("fail");
    cl_event failed, behind, user = make_user_event(), held, last;
    size_t one = 1;
    int value = 0;
    OK(clEnqueueNDRangeKernel(queue, fail, 1, NULL, &one, NULL, 0, NULL, &failed));
    append(queue, &list, 1, 1, &failed, &behind);
    EQUAL(clWaitForEvents(1, &behind), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EQUAL(status_of(failed), CL_OUT_OF_RESOURCES);
    EQUAL(status_of(behind), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    append(queue, &list, 2, 1, &user, &held);
    append(queue, &list, 3, 1, &held, &last);
    OK(clSetUserEventStatus(user, -77));
    EQUAL(clWaitForEvents(1, &last), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EQUAL(status_of(user), -77);
    EQUAL(clEnqueueReadBuffer(queue, list.buffer, CL_TRUE, 0, 4, &value, 1, &last, NULL), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EQUAL(clFinish(queue), CL_OUT_OF_RESOURCES); /* once: the failure of a command that nobody may have looked at */
    OK(clFinish(queue));
    append(queue, &list, 4, 0, NULL, NULL);
    check_list(queue, &list, 1, (int[]){4});
    release_events(5, (cl_event[]){failed, behind, user, held, last});
    OK(clReleaseKernel(fail));
    OK(clReleaseCommandQueue(queue));
}

static struct {
    pthread_mutex_t lock;
    int count;
    cl_int statuses[16];
    long who[16];
} called = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(cl_event event, cl_int status, void *who) {
    (void)event;
    pthread_mutex_lock(&called.lock);
    called.statuses[called.count] = status;
    called.who[called.count++] = (long)who;
    pthread_mutex_unlock(&called.lock);
}

static void await_calls(int count) {
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&called.lock);
        bool all = called.count >= count;
        pthread_mutex_unlock(&called.lock);
        if (all) return;
        sleep_ms(1);
    }
    CHECK(!"callbacks were called");
}

static void test_callbacks_in_order(void) {
    cl_command_queue queue = make_queue(0);
    struct list list = make_list(queue);
    cl_event user = make_user_event(), event;
    append(queue, &list, 1, 1, &user, &event);
    OK(clSetEventCallback(event, CL_COMPLETE, note, (void *)3));
    OK(clSetEventCallback(event, CL_RUNNING, note, (void *)2));
    OK(clSetEventCallback(event, CL_SUBMITTED, note, (void *)1));
    OK(clSetEventCallback(event, CL_COMPLETE, note, (void *)4));
    OK(clSetEventCallback(user, CL_COMPLETE, note, (void *)0));
    EQUAL(clSetEventCallback(event, CL_QUEUED, note, NULL), CL_INVALID_VALUE);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    await_calls(5); /* although nobody waits for the event */
    OK(clSetEventCallback(event, CL_COMPLETE, note, (void *)5));
    await_calls(6);
    cl_int statuses[] = {CL_COMPLETE, CL_SUBMITTED, CL_RUNNING, CL_COMPLETE, CL_COMPLETE, CL_COMPLETE};
    for (int i = 0; i < 6; i++) {
        EQUAL(called.who[i], i);
        EQUAL(called.statuses[i], statuses[i]);
    }
    check_list(queue, &list, 1, (int[]){1});
    release_events(2, (cl_event[]){user, event});
    OK(clReleaseCommandQueue(queue));
}

static void set_status(cl_event event, cl_int status, void *user) {
    (void)event;
    EQUAL(status, CL_COMPLETE);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
}

static void test_callback_sets_a_user_event(void) {
    cl_command_queue queue = make_queue(0);
    struct list list = make_list(queue);
    cl_event user = make_user_event(), first;
    append(queue, &list, 1, 0, NULL, &first);
    OK(clSetEventCallback(first, CL_COMPLETE, set_status, user));
    append(queue, &list, 2, 1, &user, NULL);
    OK(clFinish(queue));
    check_list(queue, &list, 2, (int[]){1, 2});
    release_events(2, (cl_event[]){user, first});
    OK(clReleaseCommandQueue(queue));
}

static void *set_later(void *user) {
    sleep_ms(50);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    return NULL;
}

static void test_blocking_read_waits_for_a_user_event(void) {
    cl_command_queue queue = make_queue(0);
    struct list list = make_list(queue);
    cl_event user = make_user_event();
    pthread_t thread;
    append(queue, &list, 7, 1, &user, NULL);
    pthread_create(&thread, NULL, set_later, user);
    check_list(queue, &list, 1, (int[]){7});
    pthread_join(thread, NULL);
    release_events(1, &user);
    OK(clReleaseCommandQueue(queue));
}

/* The bytes of a write are taken when it may run, not when it is enqueued; a read's before it are there by then. */
static void test_host_memory_is_read_when_the_command_runs(void) {
    cl_command_queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem one = make_buffer(4096), two = make_buffer(4096);
    int host[1024], back[1024];
    cl_event user = make_user_event(), read, written;
    for (int i = 0; i < 1024; i++) host[i] = -1;
    OK(clEnqueueWriteBuffer(queue, one, CL_FALSE, 0, 4096, host, 1, &user, &written));
    for (int i = 0; i < 1024; i++) host[i] = i;
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clWaitForEvents(1, &written));
    memset(host, 0, sizeof host);
    OK(clEnqueueReadBuffer(queue, one, CL_FALSE, 0, 4096, host, 0, NULL, &read));
    OK(clEnqueueWriteBuffer(queue, two, CL_FALSE, 0, 4096, host, 1, &read, NULL));
    OK(clFinish(queue));
    OK(clEnqueueReadBuffer(queue, two, CL_TRUE, 0, 4096, back, 0, NULL, NULL));
    for (int i = 0; i < 1024; i++) EQUAL(back[i], i);
    release_events(3, (cl_event[]){user, read, written});
    OK(clReleaseMemObject(one));
    OK(clReleaseMemObject(two));
    OK(clReleaseCommandQueue(queue));
}

static void check_times(cl_event event) {
    cl_ulong times[5], before = 0;
    for (cl_uint i = 0; i < 5; i++) {
        OK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof times[i], &times[i], NULL));
        CHECK(times[i] >= before && times[i] > 0);
        before = times[i];
    }
}

static void test_times_advance(void) {
    cl_command_queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE), plain = make_queue(0);
    cl_mem buffer = make_buffer(64);
    char bytes[64] = {0};
    cl_event events[3];
    OK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 64, bytes, 0, NULL, &events[0]));
    OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &events[1]));
    OK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 64, bytes, 0, NULL, &events[2]));
    OK(clFinish(queue));
    for (int i = 0; i < 3; i++) check_times(events[i]);
    release_events(3, events);
    OK(clEnqueueMarkerWithWaitList(plain, 0, NULL, events));
    OK(clFinish(plain));
    EQUAL(clGetEventProfilingInfo(events[0], CL_PROFILING_COMMAND_END, 8, &(cl_ulong){0}, NULL), CL_PROFILING_INFO_NOT_AVAILABLE);
    release_events(1, events);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseCommandQueue(plain));
}

/* More commands than the ring and the table of results hold. */
static void test_ring_wraps_around(void) {
    cl_command_queue queue = make_queue(0);
    cl_mem buffer = make_buffer(1 << 16);
    cl_kernel many = make_kernel("pause");
    size_t one = 1;
    int none = 0, back[4];
    OK(clSetKernelArg(many, 0, sizeof none, &none));
    for (int i = 0; i < 40000; i++) OK(clEnqueueNDRangeKernel(queue, many, 1, NULL, &one, NULL, 0, NULL, NULL));
    int pattern[4] = {1, 2, 3, 4};
    for (int i = 0; i < 100; i++) OK(clEnqueueFillBuffer(queue, buffer, pattern, 16, 16 * i, 16, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 16 * 99, 16, back, 0, NULL, NULL));
    EQUAL(memcmp(pattern, back, 16), 0);
    OK(clReleaseKernel(many));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseCommandQueue(queue));
}

int main(void) {
    open_device();
    test_in_order();
    test_user_event_holds_an_in_order_queue();
    test_out_of_order_queue_does_not_deadlock();
    test_barrier_and_marker();
    test_failures_spread_along_wait_lists();
    test_callbacks_in_order();
    test_callback_sets_a_user_event();
    test_blocking_read_waits_for_a_user_event();
    test_host_memory_is_read_when_the_command_runs();
    test_times_advance();
    test_ring_wraps_around();
    close_device();
    return 0;
}
