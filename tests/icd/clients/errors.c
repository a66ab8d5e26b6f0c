/* The error codes of the specification, beside the same call done right. */
#include "client.h"

#define CREATES(call, expected) \
    do { \
        cl_int error = 1; \
        CHECK((call) == NULL); \
        EQUAL(error, expected); \
    } while (0)

static cl_command_queue queue;

static void test_platform(void) {
    cl_uint found;
    EQUAL(clGetPlatformIDs(0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clGetPlatformIDs(0, &platform, &found), CL_INVALID_VALUE);
    EQUAL(clGetDeviceIDs(platform, 2, 1, &device, &found), CL_DEVICE_NOT_FOUND);
    EQUAL(clGetDeviceIDs(platform, 0, 1, &device, &found), CL_INVALID_DEVICE_TYPE);
    EQUAL(clGetDeviceInfo(NULL, 0x102B, 0, NULL, NULL), CL_INVALID_DEVICE);
    EQUAL(clGetDeviceInfo(device, 0x1, 0, NULL, NULL), CL_INVALID_VALUE);
    char one[1];
    EQUAL(clGetDeviceInfo(device, 0x102B, 1, one, NULL), CL_INVALID_VALUE);
    cl_words twice[] = {0x1084, (cl_words)platform, 0x1084, (cl_words)platform, 0}, wrong[] = {0x1084, 16, 0};
    CREATES(clCreateContext(twice, 1, &device, NULL, NULL, &error), CL_INVALID_PROPERTY);
    CREATES(clCreateContext(wrong, 1, &device, NULL, NULL, &error), CL_INVALID_PLATFORM);
    CREATES(clCreateContext(NULL, 0, NULL, NULL, NULL, &error), CL_INVALID_VALUE);
    CREATES(clCreateCommandQueue(NULL, device, 0, &error), CL_INVALID_CONTEXT);
    CREATES(clCreateCommandQueue(context, NULL, 0, &error), CL_INVALID_DEVICE);
    cl_properties on_device[] = {CL_QUEUE_PROPERTIES, 5, 0};
    CREATES(clCreateCommandQueueWithProperties(context, device, on_device, &error), CL_INVALID_QUEUE_PROPERTIES);
    EQUAL(clRetainContext((cl_context)queue), CL_INVALID_CONTEXT);
    EQUAL(clReleaseContext(NULL), CL_INVALID_CONTEXT);
}

static void test_memory(void) {
    char host[256];
    CREATES(clCreateBuffer(context, 0, 0, NULL, &error), CL_INVALID_BUFFER_SIZE);
    CREATES(clCreateBuffer(context, 0, 2ull << 30, NULL, &error), CL_INVALID_BUFFER_SIZE);
    CREATES(clCreateBuffer(context, 3, 4, NULL, &error), CL_INVALID_VALUE);
    CREATES(clCreateBuffer(context, 1 << 20, 4, NULL, &error), CL_INVALID_VALUE);
    CREATES(clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 4, NULL, &error), CL_INVALID_HOST_PTR);
    CREATES(clCreateBuffer(context, 0, 4, host, &error), CL_INVALID_HOST_PTR);
    cl_int made;
    cl_mem buffer = make_buffer(256), hidden = clCreateBuffer(context, CL_MEM_HOST_NO_ACCESS, 16, NULL, &made);
    CREATES(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){64, 64}, &error), CL_MISALIGNED_SUB_BUFFER_OFFSET);
    CREATES(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){128, 256}, &error), CL_INVALID_VALUE);
    CREATES(clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){128, 0}, &error), CL_INVALID_BUFFER_SIZE);
    EQUAL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 200, 100, host, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, ~0ull, 2, host, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueReadBuffer(NULL, buffer, CL_TRUE, 0, 4, host, 0, NULL, NULL), CL_INVALID_COMMAND_QUEUE);
    EQUAL(clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 4, host, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
    EQUAL(clEnqueueReadBuffer(queue, hidden, CL_TRUE, 0, 4, host, 0, NULL, NULL), CL_INVALID_OPERATION);
    EQUAL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, host, 1, NULL, NULL), CL_INVALID_EVENT_WAIT_LIST);
    EQUAL(clEnqueueFillBuffer(queue, buffer, host, 3, 0, 6, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueFillBuffer(queue, buffer, host, 4, 2, 8, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueCopyBuffer(queue, buffer, buffer, 0, 8, 16, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
    cl_context other = clCreateContext(NULL, 1, &device, NULL, NULL, &made);
    cl_event foreign = clCreateUserEvent(other, &made);
    EQUAL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, host, 1, &foreign, NULL), CL_INVALID_CONTEXT);
    OK(clReleaseEvent(foreign));
    OK(clReleaseContext(other));
    EQUAL(clReleaseEvent(foreign), CL_INVALID_EVENT);
    OK(clReleaseMemObject(hidden));
    EQUAL(clGetMemObjectInfo(hidden, CL_MEM_SIZE, 0, NULL, NULL), CL_INVALID_MEM_OBJECT);
    OK(clReleaseMemObject(buffer));
}

static void test_images(void) {
    cl_image_format format = {CL_RGBA, CL_FLOAT}, odd = {CL_RGBA, CL_UNORM_SHORT_565};
    cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, 16, 16, 0, 0, 0, 0, 0, 0, NULL}, huge = desc, none = desc, pitched = desc;
    huge.image_width = 1 << 20;
    none.image_height = 0;
    pitched.image_row_pitch = 256;
    CREATES(clCreateImage(context, 0, &format, &huge, NULL, &error), CL_INVALID_IMAGE_SIZE);
    CREATES(clCreateImage(context, 0, &format, &none, NULL, &error), CL_INVALID_IMAGE_SIZE);
    CREATES(clCreateImage(context, 0, &format, &pitched, NULL, &error), CL_INVALID_IMAGE_DESCRIPTOR);
    CREATES(clCreateImage(context, 0, NULL, &desc, NULL, &error), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    CREATES(clCreateImage(context, 0, &odd, &desc, NULL, &error), CL_IMAGE_FORMAT_NOT_SUPPORTED);
    CREATES(clCreateSampler(context, 1, 5, CL_FILTER_LINEAR, &error), CL_INVALID_VALUE);
}

static void test_programs_and_kernels(void) {
    const char *bad = "ERROR";
    cl_int made;
    cl_program wrong = clCreateProgramWithSource(context, 1, &bad, NULL, &made);
    EQUAL(clBuildProgram(wrong, 0, NULL, NULL, NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
    char log[32];
    OK(clGetProgramBuildInfo(wrong, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
    EQUAL(strcmp(log, "1: ERROR"), 0);
    CREATES(clCreateKernel(wrong, "f", &error), CL_INVALID_PROGRAM_EXECUTABLE);
    OK(clReleaseProgram(wrong));
    CREATES(clCreateKernel(program, "unknown", &error), CL_INVALID_KERNEL_NAME);
    const unsigned char rubbish[] = "rubbish that is long enough", *binary = rubbish;
    size_t length = sizeof rubbish;
    cl_int status;
    CREATES(clCreateProgramWithBinary(context, 1, &device, &length, &binary, &status, &error), CL_INVALID_BINARY);
    EQUAL(status, CL_INVALID_BINARY);
    CREATES(clCreateProgramWithIL(context, rubbish, length, &error), CL_INVALID_OPERATION);
    cl_kernel kernel = make_kernel("many");
    EQUAL(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), CL_INVALID_OPERATION); /* it has a kernel */
    char values[64];
    cl_mem buffer = make_buffer(16);
    EQUAL(clSetKernelArg(kernel, 9, 4, values), CL_INVALID_ARG_INDEX);
    EQUAL(clSetKernelArg(kernel, 0, 4, values), CL_INVALID_ARG_SIZE);
    EQUAL(clSetKernelArg(kernel, 0, 64, NULL), CL_INVALID_ARG_VALUE);
    EQUAL(clSetKernelArg(kernel, 1, 64, values), CL_INVALID_ARG_VALUE);
    EQUAL(clSetKernelArg(kernel, 1, 0, NULL), CL_INVALID_ARG_SIZE);
    EQUAL(clSetKernelArg(kernel, 2, 8, &buffer), CL_INVALID_MEM_OBJECT);
    EQUAL(clSetKernelArg(kernel, 2, 8, &queue), CL_INVALID_MEM_OBJECT);
    EQUAL(clSetKernelArg(kernel, 3, 8, &buffer), CL_INVALID_SAMPLER);
    size_t one = 1, odd = 3, big = 2048, ten = 10;
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
    EQUAL(clEnqueueNDRangeKernel(queue, NULL, 1, NULL, &one, NULL, 0, NULL, NULL), CL_INVALID_KERNEL);
    OK(clReleaseKernel(kernel));
    kernel = make_kernel("append");
    int value = 1;
    OK(clSetKernelArg(kernel, 0, 8, &buffer));
    OK(clSetKernelArg(kernel, 1, 4, &value));
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 4, NULL, &one, NULL, 0, NULL, NULL), CL_INVALID_WORK_DIMENSION);
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &ten, &odd, 0, NULL, NULL), CL_INVALID_WORK_GROUP_SIZE);
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &big, &big, 0, NULL, NULL), CL_INVALID_WORK_ITEM_SIZE);
    size_t last = ~0ull;
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, &last, &ten, NULL, 0, NULL, NULL), CL_INVALID_GLOBAL_OFFSET);
    size_t found, limit = 256, beyond = 257;
    cl_kernel heavy = make_kernel("pause");
    OK(clGetKernelWorkGroupInfo(kernel, device, 0x11B0, sizeof found, &found, NULL));
    EQUAL(found, 1024);
    OK(clGetKernelWorkGroupInfo(heavy, device, 0x11B0, sizeof found, &found, NULL));
    EQUAL(found, 256);
    int none = 0;
    OK(clSetKernelArg(heavy, 0, 4, &none));
    OK(clEnqueueNDRangeKernel(queue, heavy, 1, NULL, &limit, &limit, 0, NULL, NULL));
    EQUAL(clEnqueueNDRangeKernel(queue, heavy, 1, NULL, &beyond, &beyond, 0, NULL, NULL), CL_INVALID_WORK_GROUP_SIZE);
    OK(clReleaseKernel(heavy));
    size_t zero = 0;
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &zero, NULL, 0, NULL, NULL));
    OK(clReleaseMemObject(buffer)); /* the kernel does not keep its arguments */
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
    cl_kernel twin = clCloneKernel(kernel, &made);
    OK(made);
    OK(clReleaseKernel(twin));
    OK(clReleaseKernel(kernel));
}

static void test_programs_from_binaries_and_links(void) {
    cl_int error, type;
    size_t size;
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    unsigned char *binary = malloc(size);
    OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, NULL, &error);
    OK(error);
    OK(clBuildProgram(again, 0, NULL, NULL, NULL, NULL));
    cl_uint kernels;
    OK(clCreateKernelsInProgram(again, 0, NULL, &kernels));
    EQUAL(kernels, 4);
    OK(clReleaseProgram(again));
    for (int told = 0; told < 2; told++) {
        const char *source = "kernel void append(global int *a, int v) {}";
        char name[16];
        cl_uint access;
        again = clCreateProgramWithSource(context, 1, &source, NULL, &error);
        OK(clBuildProgram(again, 0, NULL, told ? "-w -cl-kernel-arg-info" : "-w", NULL, NULL));
        cl_kernel kernel = clCreateKernel(again, "append", &error);
        OK(error);
        EQUAL(clGetKernelArgInfo(kernel, 1, CL_KERNEL_ARG_NAME, sizeof name, name, NULL), told ? CL_SUCCESS : CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
        EQUAL(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ACCESS_QUALIFIER, 4, &access, NULL), told ? CL_SUCCESS : CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
        EQUAL(clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_NAME, sizeof name, name, NULL), CL_INVALID_ARG_INDEX);
        OK(clReleaseKernel(kernel));
        OK(clReleaseProgram(again));
    }
    const char *text = "kernel void append(global int *a, int v) {}", *name = "a.h", *header = "int x;";
    cl_program unit = clCreateProgramWithSource(context, 1, &text, NULL, &error), included;
    included = clCreateProgramWithSource(context, 1, &header, NULL, &error);
    OK(clCompileProgram(unit, 0, NULL, NULL, 1, &included, &name, NULL, NULL));
    OK(clGetProgramBuildInfo(unit, device, CL_PROGRAM_BINARY_TYPE, sizeof type, &type, NULL));
    EQUAL(type, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    cl_program linked = clLinkProgram(context, 0, NULL, NULL, 1, &unit, NULL, NULL, &error);
    OK(error);
    binary = realloc(binary, 4096);
    OK(clGetProgramInfo(linked, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    CHECK(size < 4096);
    OK(clGetProgramInfo(linked, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    again = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, NULL, &error);
    OK(error);
    OK(clBuildProgram(again, 0, NULL, NULL, NULL, NULL));
    binary[size / 2] ^= 1;
    CHECK(!clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, NULL, &error));
    EQUAL(error, CL_INVALID_BINARY);
    free(binary);
    cl_program all[] = {again, linked, unit, included};
    for (int i = 0; i < 4; i++) OK(clReleaseProgram(all[i]));
}

static void test_unsupported(void) {
    CHECK(!clSVMAlloc(context, 1, 64, 0));
    CREATES(clCreatePipe(context, 0, 4, 4, NULL, &error), CL_INVALID_OPERATION);
    CREATES(clCreateFromGLBuffer(context, 1, 1, &error), CL_INVALID_OPERATION);
    EQUAL(clEnqueueNativeKernel(queue, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL), CL_INVALID_OPERATION);
    EQUAL(clSetDefaultDeviceCommandQueue(context, device, queue), CL_INVALID_OPERATION);
    EQUAL(clSetDefaultDeviceCommandQueue(context, device, NULL), CL_INVALID_OPERATION);
    EQUAL(clCreateSubDevices(device, (cl_words[]){0x1086, 1, 0}, 0, NULL, NULL), CL_INVALID_VALUE);
}

int main(void) {
    open_device();
    queue = make_queue(0);
    test_platform();
    test_memory();
    test_images();
    test_programs_and_kernels();
    test_programs_from_binaries_and_links();
    test_unsupported();
    OK(clReleaseCommandQueue(queue));
    close_device();
    return 0;
}
