/* What calls through the OpenCL driver take: printed as JSON, seconds of the fastest and of the middle of all rounds. */
#define _GNU_SOURCE
#include "calls.h"
#include <string.h>
#include <time.h>

#define MOST 10000
#define MANY 1000
#define BYTES ((size_t)16 << 20)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static double taken[MOST];

static void tell(const char *name, int count, const char *end) {
    qsort(taken, (size_t)count, sizeof *taken, compare);
    printf("\"%s\": [%.9f, %.9f]%s", name, taken[0], taken[count / 2], end);
}

#define MEASURE(name, count, end, statement) \
    do { \
        for (int i_ = 0; i_ < (count); i_++) { \
            double start_ = now(); \
            statement; \
            taken[i_] = now() - start_; \
        } \
        tell(name, count, end); \
    } while (0)

int main(int count, char **words) {
    const char *source = "kernel void add(global float *a, float v) { a[get_global_id(0)] += v; }";
    const size_t items = 1024;
    const float v = 1;
    int rounds = count > 1 ? atoi(words[1]) : 20;
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel add = clCreateKernel(program, "add", &error);
    OK(error);
    cl_mem small = clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * items, NULL, &error);
    cl_mem large = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
    OK(error);
    OK(clEnqueueFillBuffer(queue, small, &v, sizeof v, 0, 4 * items, 0, NULL, NULL));
    OK(clSetKernelArg(add, 0, sizeof small, &small));
    OK(clSetKernelArg(add, 1, sizeof v, &v));
    for (int i = 0; i < 10; i++) OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clFinish(queue));
    char *host = malloc(BYTES), *other = malloc(BYTES);
    memset(host, 1, BYTES);
    memset(other, 2, BYTES);
    OK(clEnqueueWriteBuffer(queue, large, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
    printf("{");
    MEASURE("launch and finish", 20 * rounds, ", ", {
        OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL));
        OK(clFinish(queue));
    });
    MEASURE("1,000 launches", rounds, ", ", {
        for (int i = 0; i < MANY; i++) OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL));
        OK(clFinish(queue));
    });
    MEASURE("1,000 arguments", rounds, ", ", for (int i = 0; i < MANY; i++) OK(clSetKernelArg(add, i % 2, i % 2 ? sizeof v : sizeof small, i % 2 ? (const void *)&v : &small)));
    MEASURE("16 MiB write", rounds, ", ", OK(clEnqueueWriteBuffer(queue, large, CL_TRUE, 0, BYTES, host, 0, NULL, NULL)));
    MEASURE("16 MiB memcpy", rounds, "}\n", memcpy(other, host, BYTES); __asm__ volatile("" : : "r"(other) : "memory"));
    return 0;
}
