/* A launch that goes too far, from a function that the program calls, on memory that another one makes. */
#include "client.h"

__attribute__((noinline)) cl_mem make_small(cl_context own) {
    cl_int error;
    cl_mem made = clCreateBuffer(own, 0, 64, NULL, &error);
    EQUAL(error, CL_SUCCESS);
    return made;
}

__attribute__((noinline)) void launch_far(cl_command_queue queue, cl_kernel kernel, size_t items) {
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), CL_SUCCESS);
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 4, NULL, &items, NULL, 0, NULL, NULL) == CL_INVALID_WORK_DIMENSION);
}

int main(void) {
    open_device();
    cl_int error;
    cl_context own = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(own, device, 0, &error);
    const char *source = "kernel void far(global int *o) { o[get_global_id(0)] = 1; }";
    cl_program program = clCreateProgramWithSource(own, 1, &source, NULL, &error);
    EQUAL(clBuildProgram(program, 0, NULL, "-cl-std=CL2.0", NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, "far", &error);
    cl_mem small = make_small(own);
    EQUAL(clSetKernelArg(kernel, 0, sizeof small, &small), CL_SUCCESS);
    launch_far(queue, kernel, 16 + 4);
    EQUAL(clFinish(queue), CL_SUCCESS);
    clReleaseMemObject(small);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(own);
    close_device();
    return 0;
}
