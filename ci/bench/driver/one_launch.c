/* One launch of one small kernel, as short programs are: build, launch, read, compare. */
#include "calls.h"

#define COUNT 1024

int main(void) {
    const char *source = "kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }";
    const size_t items = COUNT;
    float values[COUNT];
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    for (int i = 0; i < COUNT; i++) values[i] = (float)i;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel twice = clCreateKernel(program, "twice", &error);
    OK(error);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, &error);
    OK(error);
    OK(clSetKernelArg(twice, 0, sizeof buffer, &buffer));
    OK(clEnqueueNDRangeKernel(queue, twice, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++)
        if (values[i] != 2 * (float)i) return 1;
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(twice));
    OK(clReleaseProgram(program));
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseContext(context));
    return 0;
}
