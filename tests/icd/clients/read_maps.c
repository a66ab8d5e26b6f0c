/* Memory that is mapped for reading only: the host writes to it, and the same done well: `read_maps NAME` and `read_maps NAME well`. */
#include "client.h"

#define SIZE 16384
#define LARGE (8 << 20)

static bool well;
static cl_command_queue queue;
static cl_mem buffer;

static unsigned char *map_bytes(cl_mem memory, cl_bitfield flags, size_t offset, size_t bytes) {
    cl_int error;
    unsigned char *found = clEnqueueMapBuffer(queue, memory, CL_TRUE, flags, offset, bytes, 0, NULL, NULL, &error);
    OK(error);
    return found;
}

static cl_bitfield flags_of(bool writes) { return writes ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ; }

static void unmap(cl_mem memory, void *pointer) { OK(clEnqueueUnmapMemObject(queue, memory, pointer, 0, NULL, NULL)); }

static void check_byte(cl_mem memory, size_t offset, int expected) {
    unsigned char found;
    OK(clEnqueueReadBuffer(queue, memory, CL_TRUE, offset, 1, &found, 0, NULL, NULL));
    EQUAL(found, expected);
}

/* The simulator's buffer is the mapped memory, so that it has the change. */
static void of_buffer(void) {
    unsigned char *mapped = map_bytes(buffer, flags_of(well), 2048, 4096);
    mapped[3000] = mapped[3001] + 1;
    unmap(buffer, mapped);
    check_byte(buffer, 5048, 1);
}

/* The device has its own copy of the host's memory, which does not get the change. */
static void of_host_pointer(void) {
    static unsigned char memory[SIZE];
    cl_int error;
    cl_mem own = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, SIZE, memory, &error);
    OK(error);
    unsigned char *mapped = map_bytes(own, flags_of(well), 0, 4096);
    CHECK(mapped == memory);
    mapped[5] = 7;
    unmap(own, mapped);
    check_byte(own, 5, well ? 7 : 0);
    OK(clReleaseMemObject(own));
}

static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
static const cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, 16, 16};
static const size_t origin[3] = {0}, all[3] = {16, 16, 1}, one[3] = {1, 1, 1};

static void write_texel(cl_mem image, unsigned char *texel, cl_bitfield flags, int row_bytes) {
    cl_int error;
    size_t row, place[3] = {2, 3, 0};
    unsigned char found[4], *mapped;
    mapped = clEnqueueMapImage(queue, image, CL_TRUE, flags, origin, all, &row, NULL, 0, NULL, NULL, &error);
    OK(error);
    EQUAL(row, row_bytes);
    if (texel) *texel = 9;
    else mapped[3 * row + 2 * 4] = 9;
    unmap(image, mapped);
    OK(clEnqueueReadImage(queue, image, CL_TRUE, place, one, 0, 0, found, 0, NULL, NULL));
    EQUAL(found[0], flags & CL_MAP_WRITE ? 9 : 0);
    OK(clReleaseMemObject(image));
}

static void of_image(void) {
    cl_int error;
    unsigned char zero[4 * 16 * 16] = {0};
    cl_mem image = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, zero, &error);
    OK(error);
    write_texel(image, NULL, flags_of(well), 64);
}

/* What is between the rows belongs to the host. */
static void of_pitched_image(void) {
    static unsigned char memory[16 * 96];
    cl_image_desc pitched = desc;
    cl_int error;
    pitched.image_row_pitch = 96;
    cl_mem image = clCreateImage(context, CL_MEM_USE_HOST_PTR, &format, &pitched, memory, &error);
    OK(error);
    write_texel(image, memory + 3 * 96 + (well ? 64 : 8), CL_MAP_READ, 96);
}

static void enqueue_pause(cl_command_queue to) {
    cl_kernel slow = make_kernel("pause");
    int ms = 50;
    size_t item = 1;
    OK(clSetKernelArg(slow, 0, sizeof ms, &ms));
    OK(clEnqueueNDRangeKernel(to, slow, 1, NULL, &item, NULL, 0, NULL, NULL));
    OK(clReleaseKernel(slow));
}

static void of_mapping_that_does_not_block(void) {
    cl_int error;
    cl_event user = make_user_event(), made;
    unsigned char *mapped = clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_READ, 0, SIZE, 1, &user, &made, &error);
    OK(error);
    enqueue_pause(queue);
    OK(clEnqueueFillBuffer(queue, buffer, "\3", 1, 0, SIZE, 0, NULL, NULL));
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clWaitForEvents(1, &made));
    OK(clFinish(queue)); /* the fill, which nobody should enqueue, is no write of the host's */
    unmap(buffer, mapped);
    OK(clFinish(queue));
    OK(clReleaseEvent(made));
    mapped = clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_READ, 0, SIZE, 0, NULL, &made, &error);
    OK(error);
    OK(clWaitForEvents(1, &made));
    if (!well) mapped[SIZE - 1]++;
    unmap(buffer, mapped);
    OK(clReleaseEvent(made));
    OK(clReleaseEvent(user));
}

/* A region may be mapped for reading many times. One that overlaps it and lets the host write makes its writes the host's right. */
static void mapped_twice(void) {
    unsigned char *first = map_bytes(buffer, CL_MAP_READ, 0, 8192), *second = map_bytes(buffer, flags_of(well), 4096, 8192);
    second[10]++;
    unmap(buffer, second);
    unmap(buffer, first);
    first = map_bytes(buffer, CL_MAP_READ | CL_MAP_WRITE, 0, 8192), second = map_bytes(buffer, CL_MAP_READ, 4096, 8192);
    first[8000]++;
    unmap(buffer, second);
    unmap(buffer, first);
}

/* The change is seen before a launch that may write there as well. What the launch writes is not the host's. */
static void used_by_a_launch(void) {
    struct list list = make_list(queue);
    int *mapped = (int *)map_bytes(list.buffer, CL_MAP_READ, 0, 4 * LIST);
    if (!well) mapped[0] = 1;
    append(queue, &list, 7, 0, NULL, NULL);
    OK(clFinish(queue));
    unmap(list.buffer, mapped);
    check_list(queue, &list, well ? 1 : 2, well ? (int[]){7} : (int[]){0, 7});
}

static void of_part(void) {
    cl_int error;
    cl_buffer_region region = {4096, 4096};
    cl_mem part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    OK(error);
    unsigned char *mapped = map_bytes(part, CL_MAP_READ, 0, 4096);
    if (well) OK(clEnqueueFillBuffer(queue, buffer, "\5", 1, 0, SIZE, 0, NULL, NULL));
    else mapped[0]++;
    OK(clFinish(queue));
    unmap(part, mapped);
    OK(clReleaseMemObject(part));
}

/* A launch of another queue runs on, though the mapping is complete. */
static void beside_another_queue(void) {
    struct list list = make_list(queue);
    cl_command_queue other = make_queue(0);
    enqueue_pause(other);
    append(other, &list, 7, 0, NULL, NULL);
    OK(clFlush(other));
    if (!well) OK(clFinish(other));
    int *mapped = (int *)map_bytes(list.buffer, CL_MAP_READ, 0, 4 * LIST);
    if (!well) mapped[1] = 8;
    OK(clFinish(other));
    unmap(list.buffer, mapped);
    check_list(queue, &list, 1, well ? (int[]){7} : (int[]){8});
    OK(clReleaseCommandQueue(other));
}

static void never_unmapped(void) {
    cl_mem own = make_buffer(SIZE);
    unsigned char *mapped = map_bytes(own, CL_MAP_READ, 0, 4096);
    if (well) unmap(own, mapped);
    else mapped[0]++;
    OK(clFinish(queue));
    OK(clReleaseMemObject(own));
}

/* Of a large region every eighth piece is compared, from the first on. */
static void of_large_region(void) {
    cl_mem large = make_buffer(LARGE);
    unsigned char *mapped = map_bytes(large, CL_MAP_READ, 0, LARGE);
    mapped[well ? 1024 : 8192 + 1023]++;
    unmap(large, mapped);
    OK(clReleaseMemObject(large));
}

/* Memory that is mapped once and kept, into which commands read. */
static void read_into(void) {
    static unsigned char beside[SIZE];
    cl_mem own = make_buffer(SIZE);
    OK(clEnqueueFillBuffer(queue, own, "\7", 1, 0, SIZE, 0, NULL, NULL));
    for (int blocking = 0; blocking < 2; blocking++) {
        unsigned char *mapped = map_bytes(buffer, CL_MAP_READ, 0, SIZE);
        OK(clEnqueueReadBuffer(queue, own, blocking, 0, 4096, well ? mapped + 4096 : beside, 0, NULL, NULL));
        OK(clFinish(queue));
        if (!well && blocking) memcpy(mapped + 4096, beside, 4096);
        EQUAL(mapped[4096], well || blocking ? 7 : 0);
        unmap(buffer, mapped);
        OK(clEnqueueFillBuffer(queue, buffer, "", 1, 0, SIZE, 0, NULL, NULL));
        OK(clFinish(queue));
    }
    OK(clReleaseMemObject(own));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"buffer", of_buffer},       {"host_pointer", of_host_pointer},
    {"image", of_image},         {"pitched_image", of_pitched_image},
    {"part", of_part},           {"not_blocking", of_mapping_that_does_not_block},
    {"twice", mapped_twice},     {"launch", used_by_a_launch},
    {"queue", beside_another_queue}, {"never_unmapped", never_unmapped},
    {"large", of_large_region},  {"read_into", read_into},
};

int main(int count, char **words) {
    well = count > 2;
    open_device();
    queue = make_queue(0);
    buffer = make_buffer(SIZE);
    OK(clEnqueueFillBuffer(queue, buffer, "", 1, 0, SIZE, 0, NULL, NULL));
    OK(clFinish(queue));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(words[1], cases[i].name)) cases[i].run();
    OK(clFinish(queue));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseCommandQueue(queue));
    close_device();
    return 0;
}
