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
        EQUAL(found, bytes);
        OK(clReleaseMemObject(image));
    }
    OK(clReleaseMemObject(buffer));
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
