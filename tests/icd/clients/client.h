/* What the clients share: OpenCL's prototypes, checks that end the program, and a context with a queue. */
#pragma once

#define _GNU_SOURCE
#include "functions.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROTOTYPE(version, type, name, parameters, arguments) type name parameters;
#define PROTOTYPE_VOID(version, name, parameters, arguments) void name parameters;
FUNCTIONS(PROTOTYPE, PROTOTYPE_VOID, NO_SLOT)

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1); \
        } \
    } while (0)
#define EQUAL(call, expected) \
    do { \
        long found_ = (long)(call); \
        if (found_ != (long)(expected)) { \
            fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", __FILE__, __LINE__, #call, found_, (long)(expected)); \
            _exit(1); \
        } \
    } while (0)
#define OK(call) EQUAL(call, CL_SUCCESS)

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;

static const char *const source = "kernel void append(global int *a, int v) {}\nkernel void fail() {}\nkernel void pause(int ms) {}\n"
                                  "kernel void many(float16 x, local int *l, read_only image2d_t i, sampler_t s, write_only image2d_t o) {}";

static inline void open_device(void) {
    cl_int error;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    OK(error);
    program = clCreateProgramWithSource(context, 1, (const char *[]){source}, NULL, &error);
    OK(error);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

static inline void close_device(void) {
    OK(clReleaseProgram(program));
    OK(clReleaseContext(context));
}

static inline cl_command_queue make_queue(cl_bitfield bits) {
    cl_int error;
    cl_properties list[] = {CL_QUEUE_PROPERTIES, bits, 0};
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, list, &error);
    OK(error);
    return queue;
}

static inline cl_mem make_buffer(size_t size) {
    cl_int error;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
    OK(error);
    return buffer;
}

static inline cl_kernel make_kernel(const char *name) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    OK(error);
    return kernel;
}

/* The list that kernels `append` write. */
struct list {
    cl_mem buffer;
    cl_kernel kernel;
};

#define LIST 1000

static inline struct list make_list(cl_command_queue queue) {
    struct list made = {make_buffer(4 * LIST), make_kernel("append")};
    int zero = 0;
    OK(clEnqueueFillBuffer(queue, made.buffer, &zero, 4, 0, 4 * LIST, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clSetKernelArg(made.kernel, 0, sizeof(cl_mem), &made.buffer));
    return made;
}

static inline void append(cl_command_queue queue, const struct list *list, int value, WAITS) {
    size_t one = 1;
    OK(clSetKernelArg(list->kernel, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(queue, list->kernel, 1, NULL, &one, NULL, WAITED));
}

/* Ends the list: checks that it holds these values. */
static inline void check_list(cl_command_queue queue, struct list *list, int count, const int *expected) {
    int found[LIST];
    OK(clEnqueueReadBuffer(queue, list->buffer, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    EQUAL(found[0], count);
    for (int i = 0; i < count; i++) EQUAL(found[i + 1], expected[i]);
    OK(clReleaseMemObject(list->buffer));
    OK(clReleaseKernel(list->kernel));
}

static inline cl_event make_user_event(void) {
    cl_int error;
    cl_event event = clCreateUserEvent(context, &error);
    OK(error);
    return event;
}

static inline cl_int status_of(cl_event event) {
    cl_int status;
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status;
}

static inline void sleep_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static inline void release_events(int count, cl_event *events) {
    for (int i = 0; i < count; i++) OK(clReleaseEvent(events[i]));
}
