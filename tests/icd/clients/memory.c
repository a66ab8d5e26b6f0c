/* Memory objects: transfers, boxes, mappings, the host's own memory, images, copies, fills. */
#include "client.h"

static cl_command_queue queue;

static void fill_bytes(unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(i * 7 + i / 251);
}

static void test_buffers(void) {
    unsigned char given[5000], found[5000], *mapped;
    cl_int error;
    fill_bytes(given, sizeof given);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof given, given, &error);
    OK(error);
    for (int blocking = 0; blocking < 2; blocking++) {
        memset(found, 0, sizeof found);
        OK(clEnqueueReadBuffer(queue, buffer, blocking, 100, 4000, found, 0, NULL, NULL));
        OK(clFinish(queue));
        EQUAL(memcmp(found, given + 100, 4000), 0);
        OK(clEnqueueWriteBuffer(queue, buffer, blocking, 0, 100, given + 50, 0, NULL, NULL));
    }
    mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 200, 0, NULL, NULL, &error);
    OK(error);
    EQUAL(memcmp(mapped, given + 50, 100), 0);
    mapped[0] = 99;
    cl_uint maps;
    OK(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof maps, &maps, NULL));
    EQUAL(maps, 1);
    OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    EQUAL(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL), CL_INVALID_VALUE);
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 1, found, 0, NULL, NULL));
    EQUAL(found[0], 99);
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){1024, 512}, &error);
    OK(error);
    OK(clEnqueueReadBuffer(queue, part, CL_TRUE, 0, 512, found, 0, NULL, NULL));
    EQUAL(memcmp(found, given + 1024, 512), 0);
    OK(clReleaseMemObject(buffer)); /* its part keeps it */
    OK(clEnqueueReadBuffer(queue, part, CL_FALSE, 0, 512, found, 0, NULL, NULL));
    OK(clReleaseMemObject(part));
    OK(clFinish(queue));
}

static void test_boxes(void) {
    enum { ROW = 20, SLICE = 20 * 8, BYTES = 20 * 8 * 5 };
    unsigned char given[BYTES], found[BYTES] = {0}, packed[3 * 4 * 2] = {0};
    cl_mem buffer = make_buffer(BYTES), other = make_buffer(BYTES);
    fill_bytes(given, BYTES);
    OK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, given, 0, NULL, NULL));
    size_t origin[3] = {5, 2, 1}, zero[3] = {0}, region[3] = {3, 4, 2}, at[3] = {1, 1, 3};
    OK(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, zero, region, ROW, SLICE, 0, 0, packed, 0, NULL, NULL));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 3; x++) EQUAL(packed[z * 12 + y * 3 + x], given[(z + 1) * SLICE + (y + 2) * ROW + x + 5]);
    OK(clEnqueueCopyBufferRect(queue, buffer, other, origin, at, region, ROW, SLICE, ROW, SLICE, 0, NULL, NULL));
    OK(clEnqueueWriteBufferRect(queue, other, CL_FALSE, zero, zero, region, ROW, SLICE, 3, 12, packed, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, other, CL_TRUE, 0, BYTES, found, 0, NULL, NULL));
    EQUAL(found[3 * SLICE + ROW + 1], given[SLICE + 2 * ROW + 5]);
    EQUAL(found[SLICE + 3 * ROW + 2], packed[12 + 9 + 2]);
    size_t near[3] = {6, 3, 1}, beside[3] = {8, 2, 1};
    EQUAL(clEnqueueCopyBufferRect(queue, buffer, buffer, origin, near, region, ROW, SLICE, ROW, SLICE, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
    OK(clEnqueueCopyBufferRect(queue, buffer, buffer, origin, beside, region, ROW, SLICE, ROW, SLICE, 0, NULL, NULL));
    EQUAL(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, zero, region, 2, SLICE, 0, 0, packed, 0, NULL, NULL), CL_INVALID_VALUE);
    size_t far[3] = {5, 2, 4};
    EQUAL(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, far, zero, region, ROW, SLICE, 0, 0, packed, 0, NULL, NULL), CL_INVALID_VALUE);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseMemObject(other));
}

static void test_the_hosts_own_memory(void) {
    static unsigned char host[4096], found[4096];
    cl_int error;
    fill_bytes(host, sizeof host);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof host, host, &error);
    OK(error);
    int pattern = 0x01020304;
    OK(clEnqueueFillBuffer(queue, buffer, &pattern, 4, 0, 2048, 0, NULL, NULL));
    unsigned char *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 1024, 2048, 0, NULL, NULL, &error);
    OK(error);
    CHECK(mapped == host + 1024);
    EQUAL(host[1024], 4);
    EQUAL(host[2048], (unsigned char)(2048 * 7 + 2048 / 251));
    mapped[5] = 77;
    OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    EQUAL(found[1029], 77);
    EQUAL(found[3000], (unsigned char)(3000 * 7 + 3000 / 251));
    OK(clReleaseMemObject(buffer));
}

static void test_images(void) {
    enum { WIDTH = 17, HEIGHT = 5, LAYERS = 3, TEXEL = 16 };
    static unsigned char given[LAYERS][HEIGHT][WIDTH][TEXEL], found[sizeof given], rows[HEIGHT][WIDTH * TEXEL + 64];
    const cl_uint types[] = {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY,
                             CL_MEM_OBJECT_IMAGE3D};
    const size_t regions[][3] = {{17, 1, 1}, {17, 3, 1}, {17, 5, 1}, {17, 5, 3}, {17, 5, 3}};
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const size_t zero[3] = {0}, inner[3] = {3, 0, 0}, few[3] = {2, 1, 1};
    cl_int error;
    fill_bytes((unsigned char *)given, sizeof given);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        cl_image_desc desc = {types[i], WIDTH, HEIGHT, LAYERS, LAYERS, 0, 0, 0, 0, NULL};
        size_t bytes = regions[i][0] * regions[i][1] * regions[i][2] * TEXEL, row, slice;
        cl_mem image = clCreateImage(context, CL_MEM_COPY_HOST_PTR, &format, &desc, given, &error);
        OK(error);
        memset(found, 0, sizeof found);
        OK(clEnqueueReadImage(queue, image, CL_TRUE, zero, regions[i], 0, 0, found, 0, NULL, NULL));
        EQUAL(memcmp(found, given, bytes), 0);
        unsigned char *mapped = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, inner, few, &row, &slice, 0, NULL,
                                                  NULL, &error);
        OK(error);
        EQUAL(memcmp(mapped, given[0][0][3], 2 * TEXEL), 0);
        mapped[0] = 42;
        OK(clEnqueueUnmapMemObject(queue, image, mapped, 0, NULL, NULL));
        cl_mem buffer = make_buffer(bytes + 16);
        OK(clEnqueueCopyImageToBuffer(queue, image, buffer, zero, regions[i], 16, 0, NULL, NULL));
        OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 16, bytes, found, 0, NULL, NULL));
        EQUAL(found[3 * TEXEL], 42);
        EQUAL(memcmp(found + 4 * TEXEL, (unsigned char *)given + 4 * TEXEL, bytes - 4 * TEXEL), 0);
        OK(clEnqueueWriteImage(queue, image, CL_FALSE, zero, regions[i], 0, 0, given, 0, NULL, NULL));
        OK(clEnqueueCopyImage(queue, image, image, inner, zero, few, 0, NULL, NULL));
        EQUAL(clEnqueueCopyImage(queue, image, image, inner, inner, few, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
        size_t width;
        OK(clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof width, &width, NULL));
        EQUAL(width, WIDTH);
        OK(clReleaseMemObject(buffer));
        OK(clReleaseMemObject(image));
    }
    for (int y = 0; y < HEIGHT; y++) memcpy(rows[y], given[0][y], WIDTH * TEXEL);
    cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, WIDTH, HEIGHT, 0, 0, sizeof *rows, 0, 0, 0, NULL};
    cl_mem image = clCreateImage(context, CL_MEM_USE_HOST_PTR, &format, &desc, rows, &error);
    OK(error);
    size_t row, middle[3] = {1, 2, 0};
    unsigned char *mapped = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_WRITE, middle, few, &row, NULL, 0, NULL, NULL, &error);
    OK(error);
    EQUAL(row, sizeof *rows);
    CHECK(mapped == rows[2] + TEXEL);
    mapped[1] = 5;
    OK(clEnqueueUnmapMemObject(queue, image, mapped, 0, NULL, NULL));
    OK(clEnqueueReadImage(queue, image, CL_TRUE, middle, few, 0, 0, found, 0, NULL, NULL));
    EQUAL(found[1], 5);
    OK(clReleaseMemObject(image));
}

static void test_images_over_buffers(void) {
    cl_mem buffer = make_buffer(1024 * 64), found;
    cl_int error;
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc desc = {CL_MEM_OBJECT_IMAGE2D, 32, 64, 0, 0, 1024, 0, 0, 0, buffer};
    cl_mem image = clCreateImage(context, 0, &format, &desc, NULL, &error);
    OK(error);
    size_t pitch, origin[3] = {2, 1, 0}, one[3] = {1, 1, 1};
    OK(clGetImageInfo(image, CL_IMAGE_ROW_PITCH, sizeof pitch, &pitch, NULL));
    EQUAL(pitch, 1024);
    OK(clGetImageInfo(image, CL_IMAGE_BUFFER, sizeof found, &found, NULL));
    CHECK(found == buffer);
    float texel[4] = {1, 2, 3, 4}, back[4];
    OK(clEnqueueWriteImage(queue, image, CL_TRUE, origin, one, 0, 0, texel, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 1024 + 32, 16, back, 0, NULL, NULL));
    EQUAL(memcmp(texel, back, 16), 0);
    desc.image_row_pitch = 100;
    EQUAL((clCreateImage(context, 0, &format, &desc, NULL, &error), error), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseMemObject(image));
}

/* More than staging holds at a time: the rest goes straight when its turn comes. */
static void test_large_transfers(void) {
    size_t size = 300u << 20;
    unsigned char *host = malloc(size), *back = malloc(size);
    CHECK(host && back);
    cl_mem buffer = make_buffer(size);
    memset(host, 1, size);
    for (int i = 0; i < 5; i++) OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, size, host, 0, NULL, NULL));
    for (int i = 0; i < 5; i++) OK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, size, back, 0, NULL, NULL));
    OK(clFinish(queue));
    EQUAL(memcmp(host, back, size), 0);
    OK(clReleaseMemObject(buffer));
    free(host);
    free(back);
}

int main(int count, char **words) {
    open_device();
    queue = make_queue(0);
    test_buffers();
    test_boxes();
    test_the_hosts_own_memory();
    test_images();
    test_images_over_buffers();
    if (count > 1 && !strcmp(words[1], "large")) test_large_transfers();
    OK(clReleaseCommandQueue(queue));
    close_device();
    return 0;
}
