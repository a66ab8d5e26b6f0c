/* Calls that are refused, beside the same done well: what the server and the context are told. */
#include "client.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heard[4][256];
static int heard_count;

static void hear(const char *text, const void *data, size_t size, void *own) {
    (void)data, (void)size, (void)own;
    pthread_mutex_lock(&lock);
    if (heard_count < 4) snprintf(heard[heard_count++], sizeof heard[0], "%s", text);
    pthread_mutex_unlock(&lock);
}

static void wait_for_notice(int count) {
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&lock);
        int now = heard_count;
        pthread_mutex_unlock(&lock);
        if (now >= count) return;
        usleep(10000);
    }
    CHECK(!"the context was told in time");
}

int main(int count, char **words) {
    bool well = count > 1 && !strcmp(words[1], "well");
    open_device();
    cl_int error;
    cl_context own = clCreateContext(NULL, 1, &device, hear, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(own, device, 0, &error);
    const char *source = "kernel void append(global int *a, int v) {}";
    cl_program program = clCreateProgramWithSource(own, 1, &source, NULL, &error);
    EQUAL(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "append", &error);
    cl_mem buffer = clCreateBuffer(own, 0, 4096, NULL, &error);
    size_t one = 1, many = 2048, few = 8;
    EQUAL(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    EQUAL(clSetKernelArg(kernel, 1, well ? 4 : 8, &(cl_ulong){7}), well ? CL_SUCCESS : CL_INVALID_ARG_SIZE);
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), well ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS);
    EQUAL(clSetKernelArg(kernel, 1, 4, &(cl_int){7}), CL_SUCCESS);
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &many, well ? &few : &many, 0, NULL, NULL),
          well ? CL_SUCCESS : CL_INVALID_WORK_ITEM_SIZE);
    EQUAL(clGetKernelInfo(kernel, 1, 0, NULL, NULL), CL_INVALID_VALUE); /* a query asks, and the context is not told */
    if (!well) wait_for_notice(3);
    EQUAL(clFinish(queue), CL_SUCCESS);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < heard_count; i++) fprintf(stderr, "context: %s\n", heard[i]);
    pthread_mutex_unlock(&lock);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(own);
    close_device();
    return 0;
}
