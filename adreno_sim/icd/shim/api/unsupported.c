/* What the device does not have: pipes, native kernels, memory shared with OpenGL. */
#include "common.h"

/* A query of the device says that it has none, so that the function returns CL_INVALID_OPERATION once its objects are right. */
static cl_int refuse(const struct queue *queue) {
    return object_is(queue, QUEUE) ? CL_INVALID_OPERATION : CL_INVALID_COMMAND_QUEUE;
}

cl_mem API(clCreatePipe)(cl_context context, cl_bitfield flags, cl_uint packet, cl_uint packets, const cl_words *properties,
                         cl_int *error) {
    (void)flags, (void)packet, (void)packets, (void)properties;
    return fail(error, object_is(context, CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
}

cl_int API(clGetPipeInfo)(cl_mem pipe, ANSWER) {
    (void)pipe, (void)name, (void)size, (void)value, (void)size_ret;
    return CL_INVALID_MEM_OBJECT;
}

cl_int API(clEnqueueNativeKernel)(cl_command_queue queue, native_kernel function, void *args, size_t bytes, cl_uint count,
                                  const cl_mem *memories, const void **places, WAITS) {
    (void)function, (void)args, (void)bytes, (void)count, (void)memories, (void)places;
    (void)wait_count, (void)waits, (void)event;
    return refuse(queue);
}

static void *refuse_gl(const struct context *context, cl_int *error) {
    return fail(error, object_is(context, CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT);
}

cl_mem API(clCreateFromGLBuffer)(cl_context context, cl_bitfield flags, cl_uint object, cl_int *error) {
    (void)flags, (void)object;
    return refuse_gl(context, error);
}

cl_mem API(clCreateFromGLTexture)(cl_context context, cl_bitfield flags, cl_uint target, cl_int level, cl_uint object,
                                  cl_int *error) {
    (void)flags, (void)target, (void)level, (void)object;
    return refuse_gl(context, error);
}

cl_mem API(clCreateFromGLTexture2D)(cl_context context, cl_bitfield flags, cl_uint target, cl_int level, cl_uint object,
                                    cl_int *error) {
    return API(clCreateFromGLTexture)(context, flags, target, level, object, error);
}

cl_mem API(clCreateFromGLTexture3D)(cl_context context, cl_bitfield flags, cl_uint target, cl_int level, cl_uint object,
                                    cl_int *error) {
    return API(clCreateFromGLTexture)(context, flags, target, level, object, error);
}

cl_mem API(clCreateFromGLRenderbuffer)(cl_context context, cl_bitfield flags, cl_uint object, cl_int *error) {
    return API(clCreateFromGLBuffer)(context, flags, object, error);
}

#define CL_INVALID_GL_OBJECT (-60)

cl_int API(clGetGLObjectInfo)(cl_mem memory, cl_uint *type, cl_uint *object) {
    (void)type, (void)object;
    return memory_lives(memory) ? CL_INVALID_GL_OBJECT : CL_INVALID_MEM_OBJECT;
}

cl_int API(clGetGLTextureInfo)(cl_mem memory, ANSWER) {
    (void)name, (void)size, (void)value, (void)size_ret;
    return memory_lives(memory) ? CL_INVALID_GL_OBJECT : CL_INVALID_MEM_OBJECT;
}

cl_int API(clEnqueueAcquireGLObjects)(cl_command_queue queue, cl_uint count, const cl_mem *memories, WAITS) {
    (void)count, (void)memories, (void)wait_count, (void)waits, (void)event;
    return refuse(queue);
}

cl_int API(clEnqueueReleaseGLObjects)(cl_command_queue queue, cl_uint count, const cl_mem *memories, WAITS) {
    (void)count, (void)memories, (void)wait_count, (void)waits, (void)event;
    return refuse(queue);
}
