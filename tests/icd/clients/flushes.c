/* Launches that nothing flushes, and waits for what waits for a queue that nothing flushes. "well": a flush comes in time. */
#include "client.h"

static cl_kernel kernel;
static cl_mem memory;
static bool well;

static void launch(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event) {
    size_t size = 1;
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, count, waits, event));
}

static void many(cl_command_queue queue, cl_command_queue other) {
    (void)other;
    for (int i = 0; i < 2500; i++) {
        launch(queue, 0, NULL, NULL);
        if (well && i % 900 == 899) OK(i % 1800 == 899 ? clFlush(queue) : clFinish(queue));
    }
}

/* A launch in `queue`, then one in `other` that waits for it. */
static cl_event chain(cl_command_queue queue, cl_command_queue other) {
    cl_event first, second;
    launch(queue, 0, NULL, &first);
    if (well) OK(clFlush(queue));
    launch(other, 1, &first, &second);
    OK(clReleaseEvent(first));
    return second;
}

static void finish(cl_command_queue queue, cl_command_queue other) {
    OK(clReleaseEvent(chain(queue, other)));
    OK(clFinish(other));
}

static void wait_event(cl_command_queue queue, cl_command_queue other) {
    cl_event second = chain(queue, other);
    OK(clWaitForEvents(1, &second));
    OK(clReleaseEvent(second));
}

static void blocking(cl_command_queue queue, cl_command_queue other) {
    cl_event first;
    int value;
    launch(queue, 0, NULL, &first);
    if (well) OK(clWaitForEvents(1, &first));
    OK(clEnqueueReadBuffer(other, memory, CL_TRUE, 0, sizeof value, &value, 1, &first, NULL));
    OK(clReleaseEvent(first));
}

/* What needs no flush: the same queue; a wait for a command before the one that waits; both events in one wait; a queue that is
   released. */
static void harmless(cl_command_queue queue, cl_command_queue other) {
    cl_event first, both[2];
    OK(clReleaseEvent(chain(queue, queue)));
    OK(clFinish(queue));
    launch(other, 0, NULL, &first);
    cl_event second = chain(queue, other);
    OK(clWaitForEvents(1, &first));
    OK(clFlush(queue));
    OK(clWaitForEvents(1, &second));
    launch(queue, 0, NULL, &both[1]);
    launch(other, 1, &both[1], &both[0]);
    OK(clWaitForEvents(2, both));
    cl_command_queue brief = make_queue(0);
    cl_event third = chain(brief, other);
    OK(clReleaseCommandQueue(brief));
    OK(clWaitForEvents(1, &third));
    cl_event all[] = {first, second, both[0], both[1], third};
    for (int i = 0; i < 5; i++) OK(clReleaseEvent(all[i]));
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(cl_command_queue, cl_command_queue);
    } cases[] = {{"many", many}, {"finish", finish}, {"wait", wait_event}, {"blocking", blocking}, {"harmless", harmless}};
    cl_int error;
    well = count > 2;
    open_device();
    cl_command_queue queue = make_queue(0), other = make_queue(0);
    int value = 0;
    kernel = clCreateKernel(program, "append", &error);
    memory = make_buffer(64);
    OK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(words[1], cases[i].name)) cases[i].run(queue, other);
    OK(clFinish(queue));
    OK(clFinish(other));
    OK(clReleaseMemObject(memory));
    OK(clReleaseKernel(kernel));
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseCommandQueue(other));
    close_device();
    return 0;
}
