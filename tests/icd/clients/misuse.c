/* What OpenCL forbids the host, each beside the same done well: `misuse NAME` and `misuse NAME well`. */
#include "client.h"

static bool well;
static cl_command_queue queue;

static void use_after_release(void) {
    cl_mem buffer = make_buffer(16);
    if (!well) OK(clReleaseMemObject(buffer));
    size_t size;
    EQUAL(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL), well ? CL_SUCCESS : CL_INVALID_MEM_OBJECT);
    if (well) OK(clReleaseMemObject(buffer));
}

static void released_too_often(void) {
    cl_event event = make_user_event();
    if (well) OK(clRetainEvent(event));
    OK(clSetUserEventStatus(event, CL_COMPLETE));
    OK(clReleaseEvent(event));
    EQUAL(clReleaseEvent(event), well ? CL_SUCCESS : CL_INVALID_EVENT);
}

static void released_argument(void) {
    size_t one = 1;
    cl_mem buffer = make_buffer(4 * LIST);
    cl_kernel kernel = make_kernel("append");
    int value = 1, zero = 0;
    OK(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 4 * LIST, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    if (!well) OK(clReleaseMemObject(buffer));
    EQUAL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), well ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS);
    if (well) OK(clReleaseMemObject(buffer)); /* the launch may still run */
    OK(clReleaseKernel(kernel));
}

static void argument_not_set(void) {
    size_t one = 1;
    struct list list = make_list(queue);
    int value = 1;
    if (well) OK(clSetKernelArg(list.kernel, 1, sizeof value, &value));
    EQUAL(clEnqueueNDRangeKernel(queue, list.kernel, 1, NULL, &one, NULL, 0, NULL, NULL),
          well ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS);
    check_list(queue, &list, well, &value);
}

/* A mapping for reading does not forbid launches; one for writing does until it is unmapped, by a command before the launch. */
static void used_while_mapped(void) {
    cl_int error;
    struct list list = make_list(queue);
    int *seen = clEnqueueMapBuffer(queue, list.buffer, CL_TRUE, CL_MAP_READ, 0, 4 * LIST, 0, NULL, NULL, &error);
    OK(error);
    OK(clEnqueueUnmapMemObject(queue, list.buffer, seen, 0, NULL, NULL));
    int *mapped = clEnqueueMapBuffer(queue, list.buffer, CL_TRUE, CL_MAP_WRITE, 4 * LIST - 4, 4, 0, NULL, NULL, &error);
    OK(error);
    if (well) OK(clEnqueueUnmapMemObject(queue, list.buffer, mapped, 0, NULL, NULL));
    append(queue, &list, 7, 0, NULL, NULL);
    OK(clFinish(queue));
    if (!well) OK(clEnqueueUnmapMemObject(queue, list.buffer, mapped, 0, NULL, NULL));
    check_list(queue, &list, 1, (int[]){7});
}

/* A part of a buffer is mapped, and a launch gets the whole, or another part. */
static void part_used_while_mapped(void) {
    cl_int error;
    cl_buffer_region region = {2048, 1024};
    cl_mem whole = make_buffer(4096), part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    OK(error);
    region.origin = 0;
    cl_mem other = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    OK(error);
    int *mapped = clEnqueueMapBuffer(queue, part, CL_TRUE, CL_MAP_WRITE, 0, 1024, 0, NULL, NULL, &error), zero = 0;
    OK(error);
    OK(clEnqueueFillBuffer(queue, well ? other : whole, &zero, sizeof zero, 0, 1024, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clEnqueueUnmapMemObject(queue, part, mapped, 0, NULL, NULL));
    OK(clEnqueueFillBuffer(queue, whole, &zero, sizeof zero, 0, 1024, 0, NULL, NULL));
    OK(clReleaseMemObject(other));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(whole));
}

/* Enqueued while it is mapped, but it begins after the unmapping. */
static void unmapped_in_time(void) {
    cl_int error;
    struct list list = make_list(queue);
    int *mapped = clEnqueueMapBuffer(queue, list.buffer, CL_TRUE, CL_MAP_WRITE, 4 * LIST - 4, 4, 0, NULL, NULL, &error);
    OK(error);
    cl_event user = make_user_event();
    append(queue, &list, 7, 1, &user, NULL);
    cl_command_queue other = make_queue(0);
    if (well) OK(clEnqueueUnmapMemObject(other, list.buffer, mapped, 0, NULL, NULL));
    OK(clFinish(other));
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clFinish(queue));
    if (!well) OK(clEnqueueUnmapMemObject(other, list.buffer, mapped, 0, NULL, NULL));
    OK(clReleaseEvent(user));
    OK(clReleaseCommandQueue(other));
    check_list(queue, &list, 1, (int[]){7});
}

/* Nothing is mapped before the command that maps begins: what begins before it may use the memory, or map it. */
static void mapped_later(void) {
    cl_int error;
    struct list list = make_list(queue);
    cl_command_queue other = make_queue(0);
    cl_event user = make_user_event(), second = make_user_event(), made;
    append(queue, &list, 7, 1, &user, NULL);
    int *mapped = clEnqueueMapBuffer(well ? queue : other, list.buffer, CL_FALSE, CL_MAP_WRITE, 4 * LIST - 4, 4, 0, NULL, &made, &error);
    OK(error);
    OK(clFlush(other));
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clWaitForEvents(1, &made));
    OK(clFinish(queue));
    OK(clEnqueueUnmapMemObject(queue, list.buffer, mapped, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clReleaseEvent(made));
    mapped = clEnqueueMapBuffer(queue, list.buffer, CL_FALSE, CL_MAP_WRITE, 0, 4, 1, &second, &made, &error);
    OK(error);
    void *before = clEnqueueMapBuffer(other, list.buffer, CL_TRUE, CL_MAP_WRITE, 0, 8, 0, NULL, NULL, &error);
    OK(error);
    OK(clEnqueueUnmapMemObject(other, list.buffer, before, 0, NULL, NULL));
    OK(clFinish(other));
    OK(clSetUserEventStatus(second, CL_COMPLETE));
    OK(clWaitForEvents(1, &made));
    OK(clEnqueueUnmapMemObject(queue, list.buffer, mapped, 0, NULL, NULL));
    check_list(queue, &list, 1, (int[]){7});
    OK(clReleaseEvent(made));
    OK(clReleaseEvent(second));
    OK(clReleaseEvent(user));
    OK(clReleaseCommandQueue(other));
}

/* Of the same bytes for writing, in a buffer, in its part, and in an image. */
static void mapped_for_writing_twice(void) {
    cl_int error;
    cl_buffer_region region = {2048, 1024};
    cl_mem whole = make_buffer(4096), part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    OK(error);
    int *first = clEnqueueMapBuffer(queue, whole, CL_TRUE, CL_MAP_WRITE, 0, well ? 2048 : 2052, 0, NULL, NULL, &error);
    OK(error);
    int *second = clEnqueueMapBuffer(queue, part, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 1024, 0, NULL, NULL, &error);
    OK(error);
    int *third = clEnqueueMapBuffer(queue, whole, CL_TRUE, CL_MAP_READ, 0, 2048, 0, NULL, NULL, &error); /* it only reads */
    OK(error);
    OK(clEnqueueUnmapMemObject(queue, whole, third, 0, NULL, NULL));
    OK(clEnqueueUnmapMemObject(queue, whole, first, 0, NULL, NULL));
    first = clEnqueueMapBuffer(queue, whole, CL_TRUE, CL_MAP_WRITE, 0, 1024, 0, NULL, NULL, &error);
    OK(error);
    OK(clEnqueueUnmapMemObject(queue, part, second, 0, NULL, NULL));
    OK(clEnqueueUnmapMemObject(queue, whole, first, 0, NULL, NULL));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(whole));
}

static void image_mapped_for_writing_twice(void) {
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, 16, 16};
    size_t row, origin[3] = {0}, other[3] = {0, well ? 4 : 3, 0}, extent[3] = {16, 4, 1};
    cl_int error;
    cl_mem image = clCreateImage(context, 0, &format, &desc, NULL, &error);
    OK(error);
    void *first = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_WRITE, origin, extent, &row, NULL, 0, NULL, NULL, &error);
    OK(error);
    void *second = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_WRITE, other, extent, &row, NULL, 0, NULL, NULL, &error);
    OK(error);
    OK(clEnqueueUnmapMemObject(queue, image, first, 0, NULL, NULL));
    OK(clEnqueueUnmapMemObject(queue, image, second, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clReleaseMemObject(image));
}

static void host_memory_changed(void) {
    cl_int error;
    static int memory[4096], other[4096];
    cl_mem buffer = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof memory, memory, &error);
    OK(error);
    for (int round = 0; round < 3; round++) {
        int *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE | CL_MAP_READ, 4096, 8192, 0, NULL, NULL, &error);
        OK(error);
        mapped[5] = 10 + round;
        OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
        int pattern = round; /* the device changes it, and the host's memory only with a mapping */
        OK(clEnqueueFillBuffer(queue, buffer, &pattern, 4, 4096, 64, 0, NULL, NULL));
        OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof other, other, 0, NULL, NULL));
        if (!well && round == 1) memory[2000] = 77;
    }
    if (well) { /* what its own memory is read into is the newest */
        OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof memory, memory, 0, NULL, NULL));
        int *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, sizeof memory, 0, NULL, NULL, &error);
        OK(error);
        OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    }
    OK(clFinish(queue));
    OK(clReleaseMemObject(buffer));
}

static void never_unmapped(void) {
    cl_int error;
    cl_mem buffer = make_buffer(4096);
    int *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 4096, 0, NULL, NULL, &error);
    OK(error);
    if (well) OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clReleaseMemObject(buffer));
}

/* A write takes what a read of another queue is still to bring. */
static void unordered_transfer(void) {
    static int memory[1024];
    cl_command_queue other = make_queue(0);
    cl_mem from = make_buffer(4096), to = make_buffer(4096);
    cl_kernel slow = make_kernel("pause");
    int ms = 50;
    size_t one = 1;
    cl_event read;
    OK(clSetKernelArg(slow, 0, sizeof ms, &ms));
    OK(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &one, NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, from, CL_FALSE, 0, sizeof memory, memory, 0, NULL, &read));
    OK(clFlush(queue));
    OK(clEnqueueWriteBuffer(other, to, CL_FALSE, 0, sizeof memory, memory, well, well ? &read : NULL, NULL));
    OK(clFinish(other));
    OK(clFinish(queue));
    OK(clReleaseEvent(read));
    OK(clReleaseKernel(slow));
    OK(clReleaseMemObject(from));
    OK(clReleaseMemObject(to));
    OK(clReleaseCommandQueue(other));
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    {"use_after_release", use_after_release},     {"released_too_often", released_too_often},
    {"released_argument", released_argument},     {"argument_not_set", argument_not_set},
    {"used_while_mapped", used_while_mapped},     {"unmapped_in_time", unmapped_in_time},
    {"part_used_while_mapped", part_used_while_mapped}, {"mapped_later", mapped_later},
    {"mapped_for_writing_twice", mapped_for_writing_twice},
    {"image_mapped_for_writing_twice", image_mapped_for_writing_twice},
    {"host_memory_changed", host_memory_changed}, {"never_unmapped", never_unmapped},
    {"unordered_transfer", unordered_transfer},
};

int main(int count, char **words) {
    well = count > 2;
    open_device();
    queue = make_queue(0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(words[1], all[i].name)) all[i].run();
    OK(clReleaseCommandQueue(queue));
    close_device();
    return 0;
}
