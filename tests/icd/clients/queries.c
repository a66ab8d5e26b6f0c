/* What may be asked before something is made: requirements of images, and what a kernel takes. */
#include "client.h"

typedef cl_int (*requirements)(cl_context, const cl_properties *, cl_bitfield, const cl_image_format *, const cl_image_desc *,
                               cl_uint, size_t, void *, size_t *);
static requirements ask;

static size_t need(const cl_image_format *format, const cl_image_desc *desc, cl_uint name) {
    size_t found = 0, bytes = 0;
    OK(ask(context, NULL, CL_MEM_READ_WRITE, format, desc, name, sizeof found, &found, &bytes));
    EQUAL(bytes, name < CL_IMAGE_REQUIREMENTS_MAX_WIDTH_EXT ? sizeof(size_t) : sizeof(cl_uint));
    return found;
}

static size_t number(cl_uint query) {
    size_t found = 0;
    OK(clGetDeviceInfo(device, query, sizeof found, &found, NULL));
    return found;
}

static cl_int refuse(const cl_image_format *format, cl_image_desc desc, cl_uint name) {
    size_t found;
    return ask(context, NULL, CL_MEM_READ_WRITE, format, &desc, name, sizeof found, &found, NULL);
}

/* cl_ext_image_from_buffer: an image of each kind has the bytes of its buffer. */
static void test_kinds_over_buffers(cl_image_format format) {
    const cl_uint kinds[] = {CL_MEM_OBJECT_IMAGE1D,       CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_IMAGE1D_ARRAY,
                             CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D};
    cl_command_queue queue = make_queue(0);
    for (unsigned n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        cl_image_desc desc = {.image_type = kinds[n], .image_width = 5, .image_height = 3, .image_depth = 2, .image_array_size = 2};
        cl_int error;
        float colour[4] = {1, 2, 3, 4}, found[4];
        size_t origin[3] = {4, 0, 0}, region[3] = {1, 1, 1}, bytes = need(&format, &desc, CL_IMAGE_REQUIREMENTS_SIZE_EXT);
        desc.mem_object = make_buffer(bytes);
        cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
        OK(error);
        OK(clEnqueueWriteImage(queue, image, 1, origin, region, 0, 0, colour, 0, NULL, NULL));
        OK(clEnqueueReadBuffer(queue, desc.mem_object, 1, 4 * sizeof colour, sizeof found, found, 0, NULL, NULL));
        EQUAL(memcmp(colour, found, sizeof found), 0);
        OK(clReleaseMemObject(image));
        if (kinds[n] == CL_MEM_OBJECT_IMAGE3D || kinds[n] == CL_MEM_OBJECT_IMAGE2D_ARRAY) {
            desc.image_slice_pitch = bytes + 1;
            EQUAL((clCreateImage(context, 0, &format, &desc, NULL, &error), error), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
            desc.image_slice_pitch = 0;
        }
        OK(clReleaseMemObject(desc.mem_object));
        cl_mem small = desc.mem_object = make_buffer(bytes - 1);
        EQUAL((clCreateImage(context, 0, &format, &desc, NULL, &error), error), CL_INVALID_IMAGE_SIZE);
        OK(clReleaseMemObject(small));
    }
    OK(clReleaseCommandQueue(queue));
}

/* A device uses the host's memory itself, so an image over it needs its address to be aligned. */
static void test_host_memory_under_image(cl_image_format format, cl_image_desc desc) {
    cl_int error;
    size_t aligned = need(&format, &desc, CL_IMAGE_REQUIREMENTS_BASE_ADDRESS_ALIGNMENT_EXT);
    static char memory[1 << 16];
    char *start = memory + aligned - (size_t)memory % aligned;
    for (size_t past = 0; past < 8; past += 4) {
        desc.mem_object = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof memory - aligned - 8, start + past, &error);
        OK(error);
        cl_mem image = clCreateImage(context, 0, &format, &desc, NULL, &error);
        EQUAL(error, past ? CL_INVALID_IMAGE_FORMAT_DESCRIPTOR : CL_SUCCESS);
        if (image) OK(clReleaseMemObject(image));
        OK(clReleaseMemObject(desc.mem_object));
    }
}

static void test_images(void) {
    cl_int error;
    cl_image_format format = {CL_RGBA, CL_FLOAT}, odd = {CL_R, CL_UNORM_SHORT_555};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 37, .image_height = 9};
    ask = (requirements)clGetExtensionFunctionAddressForPlatform(platform, "clGetImageRequirementsInfoEXT");
    CHECK(ask);
    size_t row = need(&format, &desc, CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT);
    EQUAL(row, 16 * number(CL_DEVICE_IMAGE_PITCH_ALIGNMENT));
    EQUAL(need(&format, NULL, CL_IMAGE_REQUIREMENTS_BASE_ADDRESS_ALIGNMENT_EXT), 16 * number(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT));
    size_t bytes = need(&format, &desc, CL_IMAGE_REQUIREMENTS_SIZE_EXT), found;
    CHECK(bytes >= 37 * 9 * 16);
    cl_mem buffer = make_buffer(bytes), image;
    for (int over = 0; over < 2; over++) {
        desc.mem_object = over ? buffer : NULL;
        image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
        OK(error);
        OK(clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof found, &found, NULL));
        CHECK(over ? found == bytes : found == 9 * 64 * 16); /* with memory of its own it has rows of 64 texels */
        OK(clReleaseMemObject(image));
    }
    desc.mem_object = buffer;
    desc.image_row_pitch = row + 16;
    EQUAL((clCreateImage(context, 0, &format, &desc, NULL, &error), error), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    desc.image_row_pitch = 0;
    OK(clReleaseMemObject(buffer));
    test_kinds_over_buffers(format);
    test_host_memory_under_image(format, desc);
    desc.mem_object = NULL;
    EQUAL(need(NULL, &desc, CL_IMAGE_REQUIREMENTS_MAX_HEIGHT_EXT), number(CL_DEVICE_IMAGE2D_MAX_HEIGHT));
    EQUAL(refuse(NULL, desc, CL_IMAGE_REQUIREMENTS_MAX_DEPTH_EXT), CL_INVALID_IMAGE_DESCRIPTOR);
    EQUAL(refuse(NULL, desc, CL_IMAGE_REQUIREMENTS_SIZE_EXT), CL_INVALID_VALUE);
    EQUAL(refuse(&format, desc, CL_IMAGE_FORMAT), CL_INVALID_VALUE);
    EQUAL(refuse(&odd, desc, CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    desc.image_height = 0;
    EQUAL(refuse(&format, desc, CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT), CL_INVALID_IMAGE_DESCRIPTOR);
    desc.image_type = CL_MEM_OBJECT_BUFFER;
    EQUAL(refuse(&format, desc, CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT), CL_INVALID_IMAGE_DESCRIPTOR);
    EQUAL(ask(context, NULL, -1, &format, NULL, CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT, sizeof row, &row, NULL),
          CL_INVALID_VALUE);
    EQUAL(ask(NULL, NULL, 0, &format, NULL, CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT, sizeof row, &row, NULL),
          CL_INVALID_CONTEXT);
}

static void test_private_memory(void) {
    const char *text = "kernel void some(global int *a, int n) { int x[8]; for (int i = 0; i < 8; i++) x[i] = a[i]; a[n] = x[n]; }"
                       "kernel void none(global int *a) { a[0] = 1; }";
    cl_int error;
    cl_ulong some, none;
    OK(clReleaseProgram(program));
    program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    OK(error);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernels[] = {make_kernel("some"), make_kernel("none")};
    OK(clGetKernelWorkGroupInfo(kernels[0], device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof some, &some, NULL));
    OK(clGetKernelWorkGroupInfo(kernels[1], device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof none, &none, NULL));
    EQUAL(some, 32);
    EQUAL(none, 0);
    OK(clReleaseKernel(kernels[0]));
    OK(clReleaseKernel(kernels[1]));
}

int main(void) {
    cl_int error;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    OK(error);
    program = clCreateProgramWithSource(context, 1, (const char *[]){"kernel void k() {}"}, NULL, &error);
    OK(error);
    test_images();
    test_private_memory();
    close_device();
    return 0;
}
