// Counts how often each value from 0 to 15 occurs in an array, on the first OpenCL device that there is.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define VALUES 16
#define COUNT 1024

static const char *const SOURCE =
    "kernel void histogram(global int *counts, global const uchar *x) {\n"
    "#ifdef RACE\n"
    "  counts[x[get_global_id(0)]] += 1;\n"
    "#else\n"
    "  atomic_inc(&counts[x[get_global_id(0)]]);\n"
    "#endif\n"
    "}\n";

#ifdef RACE
static const char *const OPTIONS = "-DRACE";
#else
static const char *const OPTIONS = "";
#endif

static void require(cl_int status, const char *what) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s: error %d\n", what, status);
    exit(3);
  }
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  require(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  require(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  require(status, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, (const char **)&SOURCE, NULL, &status);
  require(status, "clCreateProgramWithSource");
  require(clBuildProgram(program, 1, &device, OPTIONS, NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "histogram", &status);
  require(status, "clCreateKernel");

  cl_uchar x[COUNT];
  cl_int counts[VALUES] = {0};
  for (int i = 0; i < COUNT; i++) {
    x[i] = (cl_uchar)(i * i % VALUES);
  }
  cl_mem to = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof counts, counts, &status);
  require(status, "clCreateBuffer");
  cl_mem from = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof x, x, &status);
  require(status, "clCreateBuffer");
  require(clSetKernelArg(kernel, 0, sizeof to, &to), "clSetKernelArg");
  require(clSetKernelArg(kernel, 1, sizeof from, &from), "clSetKernelArg");
  size_t items = COUNT;
  require(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  require(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL), "clEnqueueReadBuffer");

  for (int value = 0; value < VALUES; value++) {
    if (counts[value] != 0) {
      printf("%d: %d\n", value, counts[value]);
    }
  }
  clReleaseMemObject(from);
  clReleaseMemObject(to);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
