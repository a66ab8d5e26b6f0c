/* All functions of OpenCL in the order of a loader's dispatch table: which version added it, result, name, parameters,
   and their names. V has no result. SLOT is one of an API that an Adreno on Linux does not have. */
#pragma once

#include "opencl.h"

#define ANSWER cl_uint name, size_t size, void *value, size_t *size_ret
#define ANSWERED name, size, value, size_ret
#define WAITS cl_uint wait_count, const cl_event *waits, cl_event *event
#define WAITED wait_count, waits, event
#define DEVICES cl_uint device_count, const cl_device_id *devices
#define RECTANGLE \
    cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin, const size_t *region, size_t row_pitch, \
        size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch
#define RECTANGLED \
    buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch, host_slice_pitch
#define TEXELS cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row_pitch, size_t slice_pitch
#define TEXELED image, blocking, origin, region, row_pitch, slice_pitch

#define FUNCTIONS(F, V, SLOT) \
    F(10, cl_int, clGetPlatformIDs, (cl_uint count, cl_platform_id *platforms, cl_uint *found), (count, platforms, found)) \
    F(10, cl_int, clGetPlatformInfo, (cl_platform_id platform, ANSWER), (platform, ANSWERED)) \
    F(10, cl_int, clGetDeviceIDs, (cl_platform_id platform, cl_bitfield type, cl_uint count, cl_device_id *devices, \
        cl_uint *found), (platform, type, count, devices, found)) \
    F(10, cl_int, clGetDeviceInfo, (cl_device_id device, ANSWER), (device, ANSWERED)) \
    F(10, cl_context, clCreateContext, (const cl_words *properties, DEVICES, context_notice notice, void *data, cl_int *error), \
        (properties, device_count, devices, notice, data, error)) \
    F(10, cl_context, clCreateContextFromType, (const cl_words *properties, cl_bitfield type, context_notice notice, \
        void *data, cl_int *error), (properties, type, notice, data, error)) \
    F(10, cl_int, clRetainContext, (cl_context context), (context)) \
    F(10, cl_int, clReleaseContext, (cl_context context), (context)) \
    F(10, cl_int, clGetContextInfo, (cl_context context, ANSWER), (context, ANSWERED)) \
    F(10, cl_command_queue, clCreateCommandQueue, (cl_context context, cl_device_id device, cl_bitfield properties, \
        cl_int *error), (context, device, properties, error)) \
    F(10, cl_int, clRetainCommandQueue, (cl_command_queue queue), (queue)) \
    F(10, cl_int, clReleaseCommandQueue, (cl_command_queue queue), (queue)) \
    F(10, cl_int, clGetCommandQueueInfo, (cl_command_queue queue, ANSWER), (queue, ANSWERED)) \
    F(10, cl_int, clSetCommandQueueProperty, (cl_command_queue queue, cl_bitfield properties, cl_bool enable, \
        cl_bitfield *before), (queue, properties, enable, before)) \
    F(10, cl_mem, clCreateBuffer, (cl_context context, cl_bitfield flags, size_t size, void *host, cl_int *error), \
        (context, flags, size, host, error)) \
    F(10, cl_mem, clCreateImage2D, (cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, \
        size_t height, size_t row_pitch, void *host, cl_int *error), \
        (context, flags, format, width, height, row_pitch, host, error)) \
    F(10, cl_mem, clCreateImage3D, (cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, \
        size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *host, cl_int *error), \
        (context, flags, format, width, height, depth, row_pitch, slice_pitch, host, error)) \
    F(10, cl_int, clRetainMemObject, (cl_mem memory), (memory)) \
    F(10, cl_int, clReleaseMemObject, (cl_mem memory), (memory)) \
    F(10, cl_int, clGetSupportedImageFormats, (cl_context context, cl_bitfield flags, cl_uint type, cl_uint count, \
        cl_image_format *formats, cl_uint *found), (context, flags, type, count, formats, found)) \
    F(10, cl_int, clGetMemObjectInfo, (cl_mem memory, ANSWER), (memory, ANSWERED)) \
    F(10, cl_int, clGetImageInfo, (cl_mem image, ANSWER), (image, ANSWERED)) \
    F(10, cl_sampler, clCreateSampler, (cl_context context, cl_bool normalized, cl_uint addressing, cl_uint filter, \
        cl_int *error), (context, normalized, addressing, filter, error)) \
    F(10, cl_int, clRetainSampler, (cl_sampler sampler), (sampler)) \
    F(10, cl_int, clReleaseSampler, (cl_sampler sampler), (sampler)) \
    F(10, cl_int, clGetSamplerInfo, (cl_sampler sampler, ANSWER), (sampler, ANSWERED)) \
    F(10, cl_program, clCreateProgramWithSource, (cl_context context, cl_uint count, const char **texts, \
        const size_t *lengths, cl_int *error), (context, count, texts, lengths, error)) \
    F(10, cl_program, clCreateProgramWithBinary, (cl_context context, DEVICES, const size_t *lengths, \
        const unsigned char **binaries, cl_int *statuses, cl_int *error), \
        (context, device_count, devices, lengths, binaries, statuses, error)) \
    F(10, cl_int, clRetainProgram, (cl_program program), (program)) \
    F(10, cl_int, clReleaseProgram, (cl_program program), (program)) \
    F(10, cl_int, clBuildProgram, (cl_program program, DEVICES, const char *options, program_notice notice, void *data), \
        (program, device_count, devices, options, notice, data)) \
    F(10, cl_int, clUnloadCompiler, (void), ()) \
    F(10, cl_int, clGetProgramInfo, (cl_program program, ANSWER), (program, ANSWERED)) \
    F(10, cl_int, clGetProgramBuildInfo, (cl_program program, cl_device_id device, ANSWER), (program, device, ANSWERED)) \
    F(10, cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error), (program, name, error)) \
    F(10, cl_int, clCreateKernelsInProgram, (cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *found), \
        (program, count, kernels, found)) \
    F(10, cl_int, clRetainKernel, (cl_kernel kernel), (kernel)) \
    F(10, cl_int, clReleaseKernel, (cl_kernel kernel), (kernel)) \
    F(10, cl_int, clSetKernelArg, (cl_kernel kernel, cl_uint place, size_t size, const void *value), \
        (kernel, place, size, value)) \
    F(10, cl_int, clGetKernelInfo, (cl_kernel kernel, ANSWER), (kernel, ANSWERED)) \
    F(10, cl_int, clGetKernelWorkGroupInfo, (cl_kernel kernel, cl_device_id device, ANSWER), (kernel, device, ANSWERED)) \
    F(10, cl_int, clWaitForEvents, (cl_uint count, const cl_event *events), (count, events)) \
    F(10, cl_int, clGetEventInfo, (cl_event event, ANSWER), (event, ANSWERED)) \
    F(10, cl_int, clRetainEvent, (cl_event event), (event)) \
    F(10, cl_int, clReleaseEvent, (cl_event event), (event)) \
    F(10, cl_int, clGetEventProfilingInfo, (cl_event event, ANSWER), (event, ANSWERED)) \
    F(10, cl_int, clFlush, (cl_command_queue queue), (queue)) \
    F(10, cl_int, clFinish, (cl_command_queue queue), (queue)) \
    F(10, cl_int, clEnqueueReadBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, \
        void *host, WAITS), (queue, buffer, blocking, offset, bytes, host, WAITED)) \
    F(10, cl_int, clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, \
        size_t bytes, const void *host, WAITS), (queue, buffer, blocking, offset, bytes, host, WAITED)) \
    F(10, cl_int, clEnqueueCopyBuffer, (cl_command_queue queue, cl_mem source, cl_mem target, size_t source_offset, \
        size_t target_offset, size_t bytes, WAITS), (queue, source, target, source_offset, target_offset, bytes, WAITED)) \
    F(10, cl_int, clEnqueueReadImage, (cl_command_queue queue, TEXELS, void *host, WAITS), (queue, TEXELED, host, WAITED)) \
    F(10, cl_int, clEnqueueWriteImage, (cl_command_queue queue, TEXELS, const void *host, WAITS), \
        (queue, TEXELED, host, WAITED)) \
    F(10, cl_int, clEnqueueCopyImage, (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin, \
        const size_t *target_origin, const size_t *region, WAITS), \
        (queue, source, target, source_origin, target_origin, region, WAITED)) \
    F(10, cl_int, clEnqueueCopyImageToBuffer, (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *origin, \
        const size_t *region, size_t offset, WAITS), (queue, source, target, origin, region, offset, WAITED)) \
    F(10, cl_int, clEnqueueCopyBufferToImage, (cl_command_queue queue, cl_mem source, cl_mem target, size_t offset, \
        const size_t *origin, const size_t *region, WAITS), (queue, source, target, offset, origin, region, WAITED)) \
    F(10, void *, clEnqueueMapBuffer, (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_bitfield flags, \
        size_t offset, size_t bytes, WAITS, cl_int *error), \
        (queue, buffer, blocking, flags, offset, bytes, WAITED, error)) \
    F(10, void *, clEnqueueMapImage, (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_bitfield flags, \
        const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch, WAITS, cl_int *error), \
        (queue, image, blocking, flags, origin, region, row_pitch, slice_pitch, WAITED, error)) \
    F(10, cl_int, clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem memory, void *mapped, WAITS), \
        (queue, memory, mapped, WAITED)) \
    F(10, cl_int, clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, \
        const size_t *offset, const size_t *global, const size_t *local, WAITS), \
        (queue, kernel, dimensions, offset, global, local, WAITED)) \
    F(10, cl_int, clEnqueueTask, (cl_command_queue queue, cl_kernel kernel, WAITS), (queue, kernel, WAITED)) \
    F(10, cl_int, clEnqueueNativeKernel, (cl_command_queue queue, native_kernel function, void *args, size_t bytes, \
        cl_uint count, const cl_mem *memories, const void **places, WAITS), \
        (queue, function, args, bytes, count, memories, places, WAITED)) \
    F(10, cl_int, clEnqueueMarker, (cl_command_queue queue, cl_event *event), (queue, event)) \
    F(10, cl_int, clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint count, const cl_event *events), \
        (queue, count, events)) \
    F(10, cl_int, clEnqueueBarrier, (cl_command_queue queue), (queue)) \
    F(10, void *, clGetExtensionFunctionAddress, (const char *name), (name)) \
    F(10, cl_mem, clCreateFromGLBuffer, (cl_context context, cl_bitfield flags, cl_uint object, cl_int *error), \
        (context, flags, object, error)) \
    F(10, cl_mem, clCreateFromGLTexture2D, (cl_context context, cl_bitfield flags, cl_uint target, cl_int level, \
        cl_uint object, cl_int *error), (context, flags, target, level, object, error)) \
    F(10, cl_mem, clCreateFromGLTexture3D, (cl_context context, cl_bitfield flags, cl_uint target, cl_int level, \
        cl_uint object, cl_int *error), (context, flags, target, level, object, error)) \
    F(10, cl_mem, clCreateFromGLRenderbuffer, (cl_context context, cl_bitfield flags, cl_uint object, cl_int *error), \
        (context, flags, object, error)) \
    F(10, cl_int, clGetGLObjectInfo, (cl_mem memory, cl_uint *type, cl_uint *object), (memory, type, object)) \
    F(10, cl_int, clGetGLTextureInfo, (cl_mem memory, ANSWER), (memory, ANSWERED)) \
    F(10, cl_int, clEnqueueAcquireGLObjects, (cl_command_queue queue, cl_uint count, const cl_mem *memories, WAITS), \
        (queue, count, memories, WAITED)) \
    F(10, cl_int, clEnqueueReleaseGLObjects, (cl_command_queue queue, cl_uint count, const cl_mem *memories, WAITS), \
        (queue, count, memories, WAITED)) \
    SLOT(clGetGLContextInfoKHR) \
    SLOT(clGetDeviceIDsFromD3D10KHR) \
    SLOT(clCreateFromD3D10BufferKHR) \
    SLOT(clCreateFromD3D10Texture2DKHR) \
    SLOT(clCreateFromD3D10Texture3DKHR) \
    SLOT(clEnqueueAcquireD3D10ObjectsKHR) \
    SLOT(clEnqueueReleaseD3D10ObjectsKHR) \
    F(11, cl_int, clSetEventCallback, (cl_event event, cl_int status, event_notice notice, void *data), \
        (event, status, notice, data)) \
    F(11, cl_mem, clCreateSubBuffer, (cl_mem buffer, cl_bitfield flags, cl_uint type, const void *region, cl_int *error), \
        (buffer, flags, type, region, error)) \
    F(11, cl_int, clSetMemObjectDestructorCallback, (cl_mem memory, memory_destructor notice, void *data), \
        (memory, notice, data)) \
    F(11, cl_event, clCreateUserEvent, (cl_context context, cl_int *error), (context, error)) \
    F(11, cl_int, clSetUserEventStatus, (cl_event event, cl_int status), (event, status)) \
    F(11, cl_int, clEnqueueReadBufferRect, (cl_command_queue queue, RECTANGLE, void *host, WAITS), \
        (queue, RECTANGLED, host, WAITED)) \
    F(11, cl_int, clEnqueueWriteBufferRect, (cl_command_queue queue, RECTANGLE, const void *host, WAITS), \
        (queue, RECTANGLED, host, WAITED)) \
    F(11, cl_int, clEnqueueCopyBufferRect, (cl_command_queue queue, cl_mem source, cl_mem target, \
        const size_t *source_origin, const size_t *target_origin, const size_t *region, size_t source_row_pitch, \
        size_t source_slice_pitch, size_t target_row_pitch, size_t target_slice_pitch, WAITS), \
        (queue, source, target, source_origin, target_origin, region, source_row_pitch, source_slice_pitch, \
        target_row_pitch, target_slice_pitch, WAITED)) \
    SLOT(clCreateSubDevicesEXT) \
    SLOT(clRetainDeviceEXT) \
    SLOT(clReleaseDeviceEXT) \
    SLOT(clCreateEventFromGLsyncKHR) \
    F(12, cl_int, clCreateSubDevices, (cl_device_id device, const cl_words *properties, cl_uint count, \
        cl_device_id *devices, cl_uint *found), (device, properties, count, devices, found)) \
    F(12, cl_int, clRetainDevice, (cl_device_id device), (device)) \
    F(12, cl_int, clReleaseDevice, (cl_device_id device), (device)) \
    F(12, cl_mem, clCreateImage, (cl_context context, cl_bitfield flags, const cl_image_format *format, \
        const cl_image_desc *desc, void *host, cl_int *error), (context, flags, format, desc, host, error)) \
    F(12, cl_program, clCreateProgramWithBuiltInKernels, (cl_context context, DEVICES, const char *names, cl_int *error), \
        (context, device_count, devices, names, error)) \
    F(12, cl_int, clCompileProgram, (cl_program program, DEVICES, const char *options, cl_uint header_count, \
        const cl_program *headers, const char **header_names, program_notice notice, void *data), \
        (program, device_count, devices, options, header_count, headers, header_names, notice, data)) \
    F(12, cl_program, clLinkProgram, (cl_context context, DEVICES, const char *options, cl_uint count, \
        const cl_program *inputs, program_notice notice, void *data, cl_int *error), \
        (context, device_count, devices, options, count, inputs, notice, data, error)) \
    F(12, cl_int, clUnloadPlatformCompiler, (cl_platform_id platform), (platform)) \
    F(12, cl_int, clGetKernelArgInfo, (cl_kernel kernel, cl_uint place, ANSWER), (kernel, place, ANSWERED)) \
    F(12, cl_int, clEnqueueFillBuffer, (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_bytes, \
        size_t offset, size_t bytes, WAITS), (queue, buffer, pattern, pattern_bytes, offset, bytes, WAITED)) \
    F(12, cl_int, clEnqueueFillImage, (cl_command_queue queue, cl_mem image, const void *color, const size_t *origin, \
        const size_t *region, WAITS), (queue, image, color, origin, region, WAITED)) \
    F(12, cl_int, clEnqueueMigrateMemObjects, (cl_command_queue queue, cl_uint count, const cl_mem *memories, \
        cl_bitfield flags, WAITS), (queue, count, memories, flags, WAITED)) \
    F(12, cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue queue, WAITS), (queue, WAITED)) \
    F(12, cl_int, clEnqueueBarrierWithWaitList, (cl_command_queue queue, WAITS), (queue, WAITED)) \
    F(12, void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id platform, const char *name), (platform, name)) \
    F(12, cl_mem, clCreateFromGLTexture, (cl_context context, cl_bitfield flags, cl_uint target, cl_int level, \
        cl_uint object, cl_int *error), (context, flags, target, level, object, error)) \
    SLOT(clGetDeviceIDsFromD3D11KHR) \
    SLOT(clCreateFromD3D11BufferKHR) \
    SLOT(clCreateFromD3D11Texture2DKHR) \
    SLOT(clCreateFromD3D11Texture3DKHR) \
    SLOT(clCreateFromDX9MediaSurfaceKHR) \
    SLOT(clEnqueueAcquireD3D11ObjectsKHR) \
    SLOT(clEnqueueReleaseD3D11ObjectsKHR) \
    SLOT(clGetDeviceIDsFromDX9MediaAdapterKHR) \
    SLOT(clEnqueueAcquireDX9MediaSurfacesKHR) \
    SLOT(clEnqueueReleaseDX9MediaSurfacesKHR) \
    SLOT(clCreateFromEGLImageKHR) \
    SLOT(clEnqueueAcquireEGLObjectsKHR) \
    SLOT(clEnqueueReleaseEGLObjectsKHR) \
    SLOT(clCreateEventFromEGLSyncKHR) \
    F(20, cl_command_queue, clCreateCommandQueueWithProperties, (cl_context context, cl_device_id device, \
        const cl_properties *properties, cl_int *error), (context, device, properties, error)) \
    F(20, cl_mem, clCreatePipe, (cl_context context, cl_bitfield flags, cl_uint packet, cl_uint packets, \
        const cl_words *properties, cl_int *error), (context, flags, packet, packets, properties, error)) \
    F(20, cl_int, clGetPipeInfo, (cl_mem pipe, ANSWER), (pipe, ANSWERED)) \
    F(20, void *, clSVMAlloc, (cl_context context, cl_bitfield flags, size_t bytes, cl_uint alignment), \
        (context, flags, bytes, alignment)) \
    V(20, clSVMFree, (cl_context context, void *pointer), (context, pointer)) \
    F(20, cl_int, clEnqueueSVMFree, (cl_command_queue queue, cl_uint count, void **pointers, svm_free_notice notice, \
        void *data, WAITS), (queue, count, pointers, notice, data, WAITED)) \
    F(20, cl_int, clEnqueueSVMMemcpy, (cl_command_queue queue, cl_bool blocking, void *target, const void *source, \
        size_t bytes, WAITS), (queue, blocking, target, source, bytes, WAITED)) \
    F(20, cl_int, clEnqueueSVMMemFill, (cl_command_queue queue, void *target, const void *pattern, size_t pattern_bytes, \
        size_t bytes, WAITS), (queue, target, pattern, pattern_bytes, bytes, WAITED)) \
    F(20, cl_int, clEnqueueSVMMap, (cl_command_queue queue, cl_bool blocking, cl_bitfield flags, void *pointer, \
        size_t bytes, WAITS), (queue, blocking, flags, pointer, bytes, WAITED)) \
    F(20, cl_int, clEnqueueSVMUnmap, (cl_command_queue queue, void *pointer, WAITS), (queue, pointer, WAITED)) \
    F(20, cl_sampler, clCreateSamplerWithProperties, (cl_context context, const cl_properties *properties, cl_int *error), \
        (context, properties, error)) \
    F(20, cl_int, clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint place, const void *value), (kernel, place, value)) \
    F(20, cl_int, clSetKernelExecInfo, (cl_kernel kernel, cl_uint name, size_t size, const void *value), \
        (kernel, name, size, value)) \
    F(20, cl_int, clGetKernelSubGroupInfoKHR, (cl_kernel kernel, cl_device_id device, cl_uint asked, size_t input_size, \
        const void *input, size_t size, void *value, size_t *size_ret), \
        (kernel, device, asked, input_size, input, size, value, size_ret)) \
    F(21, cl_kernel, clCloneKernel, (cl_kernel kernel, cl_int *error), (kernel, error)) \
    F(21, cl_program, clCreateProgramWithIL, (cl_context context, const void *il, size_t bytes, cl_int *error), \
        (context, il, bytes, error)) \
    F(21, cl_int, clEnqueueSVMMigrateMem, (cl_command_queue queue, cl_uint count, const void **pointers, \
        const size_t *sizes, cl_bitfield flags, WAITS), (queue, count, pointers, sizes, flags, WAITED)) \
    F(21, cl_int, clGetDeviceAndHostTimer, (cl_device_id device, cl_ulong *device_time, cl_ulong *host_time), \
        (device, device_time, host_time)) \
    F(21, cl_int, clGetHostTimer, (cl_device_id device, cl_ulong *host_time), (device, host_time)) \
    F(21, cl_int, clGetKernelSubGroupInfo, (cl_kernel kernel, cl_device_id device, cl_uint asked, size_t input_size, \
        const void *input, size_t size, void *value, size_t *size_ret), \
        (kernel, device, asked, input_size, input, size, value, size_ret)) \
    F(21, cl_int, clSetDefaultDeviceCommandQueue, (cl_context context, cl_device_id device, cl_command_queue queue), \
        (context, device, queue)) \
    F(22, cl_int, clSetProgramReleaseCallback, (cl_program program, program_notice notice, void *data), \
        (program, notice, data)) \
    F(22, cl_int, clSetProgramSpecializationConstant, (cl_program program, cl_uint number, size_t size, \
        const void *value), (program, number, size, value)) \
    F(30, cl_mem, clCreateBufferWithProperties, (cl_context context, const cl_properties *properties, cl_bitfield flags, \
        size_t size, void *host, cl_int *error), (context, properties, flags, size, host, error)) \
    F(30, cl_mem, clCreateImageWithProperties, (cl_context context, const cl_properties *properties, cl_bitfield flags, \
        const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *error), \
        (context, properties, flags, format, desc, host, error)) \
    F(30, cl_int, clSetContextDestructorCallback, (cl_context context, context_destructor notice, void *data), \
        (context, notice, data))

/* Inside, a function has a name of its own, so that a loader's of the same name never takes its place. */
#define API(name) adreno_##name
#define DECLARE(version, type, name, parameters, arguments) type API(name) parameters;
#define DECLARE_VOID(version, name, parameters, arguments) DECLARE(version, void, name, parameters, arguments)
#define NO_SLOT(name)
FUNCTIONS(DECLARE, DECLARE_VOID, NO_SLOT)

/* Of extensions, whose names come first: found by clGetExtensionFunctionAddressForPlatform alone. */
#define EXTENSION_FUNCTIONS(E) \
    E("cl_ext_image_requirements_info", cl_int, clGetImageRequirementsInfoEXT, (cl_context context, const cl_properties *properties, cl_bitfield flags, \
        const cl_image_format *format, const cl_image_desc *desc, ANSWER), \
        (context, properties, flags, format, desc, ANSWERED))
EXTENSION_FUNCTIONS(DECLARE)

struct dispatch {
#define FIELD(version, type, name, parameters, arguments) type(*name) parameters;
#define VOID_FIELD(version, name, parameters, arguments) FIELD(version, void, name, parameters, arguments)
#define EMPTY_FIELD(name) void *name;
    FUNCTIONS(FIELD, VOID_FIELD, EMPTY_FIELD)
};

/* Exported: libOpenCL of the same build calls the driver by it. */
extern __attribute__((visibility("default"))) const struct dispatch adreno_dispatch_table;
