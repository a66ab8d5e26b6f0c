/* Functions of OpenCL 3.0, 2.1 and of an extension; "well": asked for before they are called. */
#include "client.h"

int main(int count, char **words) {
    bool well = count > 1 && !strcmp(words[1], "well");
    cl_int error;
    char version[64], extensions[8192];
    open_device();
    OK(clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version, version, NULL));
    OK(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL));
    bool is_new = !strncmp(version, "OpenCL 3", 8);
    if (is_new || !well) {
        cl_mem buffer = clCreateBufferWithProperties(context, NULL, 0, 64, NULL, &error);
        OK(error);
        OK(clReleaseMemObject(buffer));
        cl_kernel kernel = make_kernel("append"), clone = clCloneKernel(kernel, &error);
        OK(error);
        OK(clReleaseKernel(clone));
        OK(clReleaseKernel(kernel));
    }
    typedef cl_int asked(cl_context, const cl_properties *, cl_bitfield, const cl_image_format *, const cl_image_desc *, cl_uint,
                         size_t, void *, size_t *);
    asked *ask = clGetExtensionFunctionAddressForPlatform(platform, "clGetImageRequirementsInfoEXT");
    if (ask && (!well || strstr(extensions, "cl_ext_image_requirements_info"))) ask(context, NULL, 0, NULL, NULL, 0, 0, NULL, NULL);
    cl_command_queue queue = make_queue(0);
    OK(clFinish(queue));
    OK(clReleaseCommandQueue(queue));
    close_device();
    return 0;
}
