/* Commands on the same memory without an order between them, each in a case of its own, and the same with one: argument "well". */
#include "client.h"

#define N 1024
#define KERNELS(name) \
    "kernel void " name "_set(global int *a, int from, int to) {\n" \
    "  int i = from + get_global_id(0); if (i < to) a[i] = i; }\n" \
    "kernel void " name "_get(global const int *a, global int *sum) { sum[get_global_id(0)] = a[get_global_id(0)] + 1; }\n"

static const char *const kernels =
    KERNELS("queues") KERNELS("any_order") KERNELS("halves") KERNELS("transfers") KERNELS("blocking") KERNELS("parts")
    KERNELS("through") KERNELS("known") KERNELS("mapped")
    "kernel void draw(write_only image2d_t to, int row) { write_imagef(to, (int2)(get_global_id(0), row), 1.0f); }\n"
    "kernel void look(read_only image2d_t from, global float *sum) {\n"
    "  sum[get_global_id(0)] = read_imagef(from, (int2)(get_global_id(0), 3)).x; }\n"
    "kernel void count(volatile global int *a) { atomic_inc(&a[get_global_id(0) % 4]); }\n"
    "kernel void reset(global int *a) { a[get_global_id(0) % 4] = 0; }\n"
    "kernel void scatter(global const int *where, global int *a) { a[where[get_global_id(0)]] = 1; }\n";

static bool well;
static cl_program made;
static cl_command_queue one, two, any;
static cl_mem data, sum, other, third;
static const size_t items = N, few = 64;

static cl_kernel kernel(const char *name, cl_mem first) {
    cl_int error;
    cl_kernel found = clCreateKernel(made, name, &error);
    OK(error);
    OK(clSetKernelArg(found, 0, sizeof first, &first));
    return found;
}

static cl_kernel setter(const char *name, cl_mem memory, int from, int to) {
    cl_kernel found = kernel(name, memory);
    OK(clSetKernelArg(found, 1, sizeof from, &from));
    OK(clSetKernelArg(found, 2, sizeof to, &to));
    return found;
}

static cl_kernel getter(const char *name, cl_mem memory, cl_mem into) {
    cl_kernel found = kernel(name, memory);
    OK(clSetKernelArg(found, 1, sizeof into, &into));
    return found;
}

static void launch(cl_command_queue queue, cl_kernel which, size_t count, WAITS) {
    OK(clEnqueueNDRangeKernel(queue, which, 1, NULL, &count, NULL, WAITED));
    OK(clReleaseKernel(which));
}

static void finish(void) {
    OK(clFinish(one));
    OK(clFinish(two));
    OK(clFinish(any));
}

static void queues(void) {
    cl_event event;
    launch(one, setter("queues_set", data, 0, N), items, 0, NULL, &event);
    OK(clFlush(one));
    launch(two, getter("queues_get", data, sum), items, well, well ? &event : NULL, NULL);
    OK(clReleaseEvent(event));
}

static void any_order(void) {
    launch(any, setter("any_order_set", data, 0, N), items, 0, NULL, NULL);
    if (well) OK(clEnqueueBarrierWithWaitList(any, 0, NULL, NULL));
    launch(any, getter("any_order_get", data, sum), items, 0, NULL, NULL);
}

static void halves(void) {
    launch(one, setter("halves_set", data, 0, well ? N / 2 : N / 2 + 4), items, 0, NULL, NULL);
    launch(two, setter("halves_set", data, N / 2, N), items, 0, NULL, NULL);
    launch(one, getter("halves_get", other, sum), few, 0, NULL, NULL); /* reading what another reads is no defect */
    launch(two, getter("halves_get", other, third), few, 0, NULL, NULL);
}

static void transfers(void) {
    static int host[N], more[N / 4];
    int zero = 0;
    cl_event filled, copied;
    OK(clEnqueueFillBuffer(any, data, &zero, 4, 0, 4 * N, 0, NULL, &filled));
    OK(clEnqueueCopyBuffer(any, data, other, 0, 0, 2 * N, well, well ? &filled : NULL, &copied));
    OK(clEnqueueReadBuffer(any, data, CL_FALSE, 0, 4 * N, host, 1, &filled, NULL));
    OK(clEnqueueWriteBuffer(any, other, CL_FALSE, well ? 2 * N : N, N, more, 0, NULL, NULL));
    release_events(2, (cl_event[]){filled, copied});
}

static void blocking(void) {
    int host[16];
    launch(one, setter("blocking_set", data, 0, N), items, 0, NULL, NULL);
    if (well) OK(clFinish(one));
    OK(clEnqueueReadBuffer(two, data, CL_TRUE, 8, sizeof host, host, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(two, other, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
}

static void parts(void) {
    cl_int error;
    cl_buffer_region regions[2] = {{0, 2048}, {well ? 2048 : 1024, 2048}};
    cl_mem part[2];
    for (int i = 0; i < 2; i++) {
        part[i] = clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &regions[i], &error);
        OK(error);
    }
    launch(one, setter("parts_set", part[0], 0, 512), 512, 0, NULL, NULL);
    launch(two, getter("parts_get", part[1], sum), 512, 0, NULL, NULL);
    for (int i = 0; i < 2; i++) OK(clReleaseMemObject(part[i]));
}

/* What a command waits for has waited for the other one, or has not. */
static void through(void) {
    cl_event set, marked, copied;
    launch(any, setter("through_set", data, 0, N), items, 0, NULL, &set);
    OK(clFlush(any));
    OK(clEnqueueCopyBuffer(two, sum, other, 0, 0, 64, well, well ? &set : NULL, &copied));
    OK(clFlush(two));
    OK(clEnqueueMarkerWithWaitList(one, 1, &copied, &marked));
    OK(clFlush(one));
    launch(any, getter("through_get", data, sum), items, 1, &marked, NULL);
    release_events(3, (cl_event[]){set, marked, copied});
}

static void set_user(cl_event event, cl_int status, void *user) {
    (void)event, (void)status;
    OK(clSetUserEventStatus(user, CL_COMPLETE));
}

/* The host learns by a query or by a callback that a command is complete. */
static void known(void) {
    cl_event set, user = make_user_event();
    launch(one, setter("known_set", data, 0, N), items, 0, NULL, &set);
    while (status_of(set) != CL_COMPLETE) sleep_ms(1);
    launch(two, getter("known_get", data, sum), items, 0, NULL, NULL);
    OK(clReleaseEvent(set));
    finish();
    launch(one, setter("known_set", data, 0, N), items, 0, NULL, &set);
    OK(clSetEventCallback(set, CL_COMPLETE, set_user, user));
    launch(two, getter("known_get", data, sum), items, 1, &user, NULL);
    OK(clFinish(two));
    release_events(2, (cl_event[]){set, user});
}

static void mapped(void) {
    cl_int error;
    launch(one, setter("mapped_set", data, 0, N), items, 0, NULL, NULL);
    void *found = clEnqueueMapBuffer(well ? one : two, data, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL, &error);
    OK(error);
    OK(clEnqueueUnmapMemObject(two, data, found, 0, NULL, NULL));
}

static void images(void) {
    cl_int error;
    cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 8};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);
    OK(error);
    float zero[4] = {0};
    OK(clEnqueueFillImage(one, image, zero, (size_t[]){0, 0, 0}, (size_t[]){64, 8, 1}, 0, NULL, NULL));
    OK(clFinish(one));
    int rows[2] = {2, well ? 4 : 3};
    for (int i = 0; i < 2; i++) {
        cl_kernel draw = kernel("draw", image);
        OK(clSetKernelArg(draw, 1, sizeof rows[i], &rows[i]));
        launch(one, draw, few, 0, NULL, NULL);
    }
    launch(two, getter("look", image, sum), few, 0, NULL, NULL);
    finish();
    OK(clReleaseMemObject(image));
}

static void atomics(void) {
    launch(one, kernel("count", data), items, 0, NULL, NULL);
    launch(two, kernel("count", data), items, 0, NULL, NULL);
    if (well) finish();
    launch(two, kernel("reset", data), few, 0, NULL, NULL);
}

/* Which bytes it has touched depends on memory: nothing is said of it. */
static void unknown(void) {
    cl_kernel scatter = getter("scatter", other, data);
    launch(one, scatter, few, 0, NULL, NULL);
    launch(two, setter("known_set", data, 0, N), items, 0, NULL, NULL);
}

int main(int count, char **words) {
    void (*cases[])(void) = {queues, any_order, halves, transfers, blocking, parts, through, known, mapped, images, atomics, unknown};
    cl_int error;
    int zero = 0;
    (void)words;
    well = count > 1;
    open_device();
    made = clCreateProgramWithSource(context, 1, (const char **)&kernels, NULL, &error);
    OK(error);
    OK(clBuildProgram(made, 1, &device, "", NULL, NULL));
    one = make_queue(0), two = make_queue(0), any = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cl_mem *memories[] = {&data, &sum, &other, &third};
        for (int j = 0; j < 4; j++) {
            *memories[j] = make_buffer(4 * N);
            OK(clEnqueueFillBuffer(one, *memories[j], &zero, 4, 0, 4 * N, 0, NULL, NULL));
        }
        finish();
        cases[i]();
        finish();
        for (int j = 0; j < 4; j++) OK(clReleaseMemObject(*memories[j]));
    }
    OK(clReleaseCommandQueue(one));
    OK(clReleaseCommandQueue(two));
    OK(clReleaseCommandQueue(any));
    OK(clReleaseProgram(made));
    close_device();
    return 0;
}
