/* Objects that are never released: more with every launch ("leak"), for a while ("cache"), before launches ("setup"), one for each
   of different launches ("layers"), a program for each of different kernels ("kernels"), or the same one built anew ("rebuilt"), or
   none ("well"). */
#include "client.h"

#define LAUNCHES 20

static cl_mem kept[2 * LAUNCHES];

__attribute__((noinline)) static void step(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, size_t size) {
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
}

/* A kernel of a program of its own, which stays. */
__attribute__((noinline)) static cl_kernel build(int number) {
    char text[128];
    const char *source = text;
    cl_int error;
    snprintf(text, sizeof text, "kernel void k(global int *a) { a[get_global_id(0)] = %d; }", number);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    return clCreateKernel(program, "k", &error);
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "well";
    bool leaks = !strcmp(how, "leak"), caches = !strcmp(how, "cache"), before = !strcmp(how, "setup"), layers = !strcmp(how, "layers");
    bool kernels = !strcmp(how, "kernels"), rebuilt = !strcmp(how, "rebuilt"), pool = !strcmp(how, "pool");
    const char *text = "kernel void k(global int *a) { a[get_global_id(0)] = 1; }";
    cl_int error;
    open_device();
    cl_program own = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    OK(clBuildProgram(own, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(own, "k", &error);
    cl_command_queue queue = make_queue(0);
    cl_mem first = make_buffer(4096);
    for (int i = 0; before && i < 2 * LAUNCHES; i++) make_buffer(64);
    for (int i = 0; i < LAUNCHES; i++) {
        bool makes = leaks || layers || pool || (caches && i < LAUNCHES / 2);
        int each = makes ? leaks ? 2 : 1 : 0;
        for (int j = 0; j < each; j++) kept[2 * i + j] = make_buffer(4096);
        if (kernels || rebuilt) step(queue, build(kernels ? i : 0), first, 16);
        step(queue, kernel, makes ? kept[2 * i] : first, layers ? i + 1 : 16);
        cl_event event;
        OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event));
        OK(clReleaseEvent(event));
    }
    if (pool) step(queue, kernel, kept[2], 16);
    OK(clFinish(queue));
    OK(clReleaseMemObject(first));
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseKernel(kernel));
    OK(clReleaseProgram(own));
    close_device();
    return 0;
}
