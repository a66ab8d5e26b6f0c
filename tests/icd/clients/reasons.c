/* Calls that are refused for a descriptor, a format, flags or properties, in order, with the code of the specification; with "well"
   each as it is right; "srgb": what the simulator does not have. */
#include "client.h"

static bool well;
static cl_command_queue queue;
static cl_image_format format = {CL_RGBA, CL_FLOAT};
static float memory[4 * 16 * 16 * 2];

static cl_image_desc describe(cl_uint type, size_t width, size_t height) {
    return (cl_image_desc){.image_type = type, .image_width = width, .image_height = height, .image_depth = 1, .image_array_size = 1};
}

/* Makes an image, which is right with "well" alone. */
static void make(const cl_image_format *as, const cl_image_desc *desc, cl_bitfield flags, void *host, cl_int expected) {
    cl_int error;
    cl_mem made = clCreateImage(context, flags, as, desc, host, &error);
    EQUAL(error, well ? CL_SUCCESS : expected);
    if (made) OK(clReleaseMemObject(made));
}

static void give_descriptors(void) {
    const cl_uint type = CL_MEM_OBJECT_IMAGE2D;
    const cl_image_desc right = describe(type, 16, 16);
    cl_image_desc desc = right;
    make(&format, well ? &right : NULL, 0, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
    desc = describe(well ? type : CL_MEM_OBJECT_BUFFER, 16, 16);
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
    desc = right, desc.num_mip_levels = well ? 0 : 4;
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
    desc = right, desc.num_samples = well ? 0 : 2;
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
    desc = describe(type, 16, well ? 1 : 0);
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_SIZE);
    desc = describe(type, well ? 16384 : 16385, 1);
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_SIZE);
    desc = describe(CL_MEM_OBJECT_IMAGE2D_ARRAY, 4, 4), desc.image_array_size = well ? 2048 : 2049;
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_SIZE);
    desc = right, desc.image_row_pitch = well ? 0 : 256;
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
    desc = right, desc.image_row_pitch = well ? 256 : 250;
    make(&format, &desc, CL_MEM_COPY_HOST_PTR, memory, CL_INVALID_IMAGE_DESCRIPTOR);
    desc = describe(CL_MEM_OBJECT_IMAGE3D, 16, 8), desc.image_depth = 2, desc.image_slice_pitch = well ? 2048 : 1024;
    make(&format, &desc, CL_MEM_COPY_HOST_PTR, memory, CL_INVALID_IMAGE_DESCRIPTOR);
    cl_int error;
    cl_mem made = clCreateImage2D(context, CL_MEM_COPY_HOST_PTR, &format, 16, 16, well ? 256 : 250, memory, &error);
    EQUAL(error, well ? CL_SUCCESS : CL_INVALID_IMAGE_SIZE);
    if (made) OK(clReleaseMemObject(made));
    made = clCreateImage3D(context, 0, &format, 16, 16, well ? 2 : 1, 0, 0, NULL, &error);
    EQUAL(error, well ? CL_SUCCESS : CL_INVALID_IMAGE_SIZE);
    if (made) OK(clReleaseMemObject(made));
}

static void give_formats(void) {
    const cl_image_desc desc = describe(CL_MEM_OBJECT_IMAGE2D, 16, 16);
    static const struct {
        cl_image_format format;
        cl_int expected;
    } wrong[] = {
        {{7, CL_FLOAT}, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR},
        {{CL_RGBA, 7}, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR},
        {{CL_RGBA, CL_UNORM_SHORT_565}, CL_IMAGE_FORMAT_NOT_SUPPORTED},
        {{CL_RGB, CL_UNORM_INT_101010_2}, CL_IMAGE_FORMAT_NOT_SUPPORTED},
        {{CL_RGB, CL_FLOAT}, CL_IMAGE_FORMAT_NOT_SUPPORTED},
        {{CL_RGB, CL_UNORM_SHORT_565}, CL_IMAGE_FORMAT_NOT_SUPPORTED},
        {{CL_DEPTH, CL_FLOAT}, CL_IMAGE_FORMAT_NOT_SUPPORTED},
    };
    make(well ? &format : NULL, &desc, 0, NULL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) make(well ? &format : &wrong[i].format, &desc, 0, NULL, wrong[i].expected);
}

static void give_other_memory(void) {
    cl_int error;
    cl_mem under = clCreateBuffer(context, CL_MEM_READ_ONLY, 4096, NULL, &error);
    OK(error);
    cl_image_desc desc = describe(CL_MEM_OBJECT_IMAGE1D_BUFFER, 16, 1), image = describe(CL_MEM_OBJECT_IMAGE2D, 16, 16);
    desc.mem_object = well ? under : NULL;
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
    desc.mem_object = well ? under : (cl_mem)queue;
    make(&format, &desc, 0, NULL, CL_INVALID_IMAGE_DESCRIPTOR);
    desc.mem_object = under;
    make(&format, &desc, well ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE, NULL, CL_INVALID_VALUE);
    make(&format, &desc, well ? 0 : CL_MEM_ALLOC_HOST_PTR, NULL, CL_INVALID_VALUE);
    make(&format, &desc, 0, well ? NULL : memory, CL_INVALID_HOST_PTR);
    cl_mem whole = clCreateImage(context, 0, &format, &image, NULL, &error);
    OK(error);
    if (!well) { /* which orders may be over which: view_image_as_srgb */
        image.mem_object = whole;
        make(&format, &image, 0, NULL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        image.image_width = 8;
        make(&format, &image, 0, NULL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    }
    OK(clReleaseMemObject(whole));
    OK(clReleaseMemObject(under));
}

static void give_flags(void) {
    cl_int error;
    static const struct {
        cl_bitfield wrong, right;
        cl_int expected;
    } cases[] = {
        {1 << 20, 0, CL_INVALID_VALUE},
        {CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY, CL_INVALID_VALUE},
        {CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY, CL_INVALID_VALUE},
        {CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 0, CL_INVALID_VALUE},
        {CL_MEM_COPY_HOST_PTR, 0, CL_INVALID_HOST_PTR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cl_mem made = clCreateBuffer(context, well ? cases[i].right : cases[i].wrong, 64, NULL, &error);
        EQUAL(error, well ? CL_SUCCESS : cases[i].expected);
        if (made) OK(clReleaseMemObject(made));
    }
    cl_mem buffer = clCreateBuffer(context, CL_MEM_HOST_NO_ACCESS, 4096, NULL, &error), part;
    OK(error);
    part = clCreateSubBuffer(buffer, well ? 0 : CL_MEM_HOST_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &(cl_buffer_region){0, 64}, &error);
    EQUAL(error, well ? CL_SUCCESS : CL_INVALID_VALUE);
    if (part) OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(buffer));
    buffer = make_buffer(4096);
    EQUAL(clEnqueueMigrateMemObjects(queue, well, &buffer, 0, 0, NULL, NULL), well ? CL_SUCCESS : CL_INVALID_VALUE);
    EQUAL(clEnqueueMigrateMemObjects(queue, 1, &buffer, well ? 3 : 12, 0, NULL, NULL), well ? CL_SUCCESS : CL_INVALID_VALUE);
    EQUAL(clEnqueueMigrateMemObjects(queue, 1, well ? &buffer : (cl_mem *)&queue, 0, 0, NULL, NULL), well ? CL_SUCCESS : CL_INVALID_MEM_OBJECT);
    for (cl_bitfield flags = 6; flags < 9; flags += 2) {
        void *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, well ? CL_MAP_WRITE : flags, 0, 64, 0, NULL, NULL, &error);
        EQUAL(error, well ? CL_SUCCESS : CL_INVALID_VALUE);
        if (mapped) OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    }
    OK(clFinish(queue));
    OK(clReleaseMemObject(buffer));
}

static void sample(const cl_properties *wrong) {
    cl_int error;
    cl_sampler made = clCreateSamplerWithProperties(context, well ? NULL : wrong, &error);
    EQUAL(error, well ? CL_SUCCESS : CL_INVALID_VALUE);
    if (made) OK(clReleaseSampler(made));
}

static void give_sampler_properties(void) {
    sample((cl_properties[]){CL_SAMPLER_NORMALIZED_COORDS, 2, 0});
    sample((cl_properties[]){CL_SAMPLER_ADDRESSING_MODE, 7, 0});
    sample((cl_properties[]){CL_SAMPLER_FILTER_MODE, 7, 0});
    sample((cl_properties[]){CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0});
    sample((cl_properties[]){CL_SAMPLER_LOD_MIN, 0, 0});
    sample((cl_properties[]){7, 0, 0});
    cl_int error;
    cl_sampler made = clCreateSampler(context, CL_TRUE, well ? CL_ADDRESS_NONE : 0, CL_FILTER_NEAREST, &error);
    EQUAL(error, well ? CL_SUCCESS : CL_INVALID_VALUE);
    if (made) OK(clReleaseSampler(made));
}

static void queue_with(const cl_properties *wrong, cl_int expected) {
    cl_int error;
    cl_command_queue made = clCreateCommandQueueWithProperties(context, device, well ? NULL : wrong, &error);
    EQUAL(error, well ? CL_SUCCESS : expected);
    if (made) OK(clReleaseCommandQueue(made));
}

static void give_queue_properties(void) {
    queue_with((cl_properties[]){CL_QUEUE_PROPERTIES, 16, 0}, CL_INVALID_VALUE);
    queue_with((cl_properties[]){CL_QUEUE_PROPERTIES, 4, 0}, CL_INVALID_VALUE);
    queue_with((cl_properties[]){CL_QUEUE_PROPERTIES, 9, 0}, CL_INVALID_VALUE);
    queue_with((cl_properties[]){CL_QUEUE_SIZE, 4096, 0}, CL_INVALID_VALUE);
    queue_with((cl_properties[]){CL_QUEUE_PROPERTIES, 5, CL_QUEUE_SIZE, 4096, 0}, CL_INVALID_QUEUE_PROPERTIES);
    queue_with((cl_properties[]){CL_QUEUE_PROPERTIES, 1, CL_QUEUE_PROPERTIES, 2, 0}, CL_INVALID_VALUE);
    queue_with((cl_properties[]){0x1096, 1, 0}, CL_INVALID_VALUE);
    cl_int error;
    cl_command_queue made = clCreateCommandQueue(context, device, well ? 3 : 5, &error);
    EQUAL(error, well ? CL_SUCCESS : CL_INVALID_VALUE);
    if (made) OK(clReleaseCommandQueue(made));
}

static void ask_for_what_there_is_not(void) {
    cl_int error;
    if (!well) {
        EQUAL(clCreateSubDevices(device, (cl_words[]){CL_DEVICE_PARTITION_EQUALLY, 1, 0}, 0, NULL, NULL), CL_INVALID_VALUE);
        EQUAL(clCreateSubDevices(device, (cl_words[]){7, 1, 0}, 0, NULL, NULL), CL_INVALID_VALUE);
        EQUAL(clCreateSubDevices(device, NULL, 0, NULL, NULL), CL_INVALID_VALUE);
    }
    cl_words named[] = {CL_CONTEXT_PLATFORM, (cl_words)platform, 0}, other[] = {CL_CONTEXT_PLATFORM, (cl_words)device, 0};
    cl_words unknown[] = {7, 1, 0}, *lists[] = {other, unknown};
    for (int i = 0; i < 2; i++) {
        cl_context made = clCreateContext(well ? named : lists[i], 1, &device, NULL, NULL, &error);
        EQUAL(error, well ? CL_SUCCESS : i ? CL_INVALID_PROPERTY : CL_INVALID_PLATFORM);
        if (made) OK(clReleaseContext(made));
    }
}

/* A view with sRGB of the texels of an image is right by the specification. */
static void view_image_as_srgb(void) {
    cl_int error;
    const cl_image_format linear = {CL_RGBA, CL_UNORM_INT8}, as = {CL_sRGBA, CL_UNORM_INT8};
    cl_image_desc desc = describe(CL_MEM_OBJECT_IMAGE2D, 16, 16);
    cl_mem whole = clCreateImage(context, 0, &linear, &desc, NULL, &error);
    OK(error);
    desc.mem_object = whole;
    CHECK(!clCreateImage(context, 0, &as, &desc, NULL, &error));
    EQUAL(error, CL_OUT_OF_RESOURCES);
    OK(clReleaseMemObject(whole));
}

int main(int count, char **words) {
    well = count > 1;
    open_device();
    if (well && !strcmp(words[1], "srgb")) {
        view_image_as_srgb();
        close_device();
        return 0;
    }
    queue = make_queue(0);
    give_descriptors();
    give_formats();
    give_other_memory();
    give_flags();
    give_sampler_properties();
    give_queue_properties();
    ask_for_what_there_is_not();
    OK(clReleaseCommandQueue(queue));
    close_device();
    return 0;
}
