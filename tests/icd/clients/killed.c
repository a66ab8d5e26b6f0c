/* Works until it or its server is killed, at what the first argument names. */
#include "client.h"

static const char *const kernels = "kernel void add(global int *a, int n) { for (int i = 0; i < n; i++) a[get_global_id(0)] += i; }\n";

static cl_program build(const char *text) {
    cl_int error;
    cl_program made = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    OK(error);
    OK(clBuildProgram(made, 1, &device, "", NULL, NULL));
    return made;
}

static cl_kernel make_add(cl_mem buffer, int rounds) {
    cl_int error;
    cl_program made = build(kernels);
    cl_kernel add = clCreateKernel(made, "add", &error);
    OK(error);
    OK(clSetKernelArg(add, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(add, 1, sizeof rounds, &rounds));
    return add;
}

static void launch(cl_command_queue queue) {
    cl_mem buffer = make_buffer(1 << 16);
    cl_kernel add = make_add(buffer, 100);
    size_t items = 1 << 14;
    int zero = 0;
    OK(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 1 << 16, 0, NULL, NULL));
    for (;;) {
        for (int i = 0; i < 20; i++) OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL));
        OK(clFinish(queue));
    }
}

static void map(cl_command_queue queue) {
    cl_int error;
    cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 64};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);
    OK(error);
    for (;;) {
        cl_mem buffer = make_buffer(1 << 20);
        char *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, 1 << 20, 0, NULL, NULL, &error);
        OK(error);
        memset(mapped, 1, 1 << 20);
        OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
        size_t row, from[3] = {0, 0, 0}, region[3] = {64, 64, 1};
        mapped = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, from, region, &row, NULL, 0, NULL, NULL, &error);
        OK(error);
        memset(mapped, 2, row * 64);
        OK(clEnqueueUnmapMemObject(queue, image, mapped, 0, NULL, NULL));
        OK(clReleaseMemObject(buffer));
    }
}

static void build_programs(cl_command_queue queue) {
    (void)queue;
    for (int i = 0;; i++) {
        char text[256], header[64];
        cl_int error;
        snprintf(header, sizeof header, "#define N %d\n", getpid() + i);
        snprintf(text, sizeof text, "#include \"n.h\"\nkernel void k(global int *a) { a[get_global_id(0)] = N; } /* %d */\n", i);
        const char *texts[] = {text, header};
        cl_program from = clCreateProgramWithSource(context, 1, &texts[0], NULL, &error);
        OK(error);
        cl_program included = clCreateProgramWithSource(context, 1, &texts[1], NULL, &error);
        OK(error);
        OK(clCompileProgram(from, 1, &device, "", 1, &included, (const char *[]){"n.h"}, NULL, NULL));
        cl_program linked = clLinkProgram(context, 1, &device, "", 1, &from, NULL, NULL, &error);
        OK(error);
        OK(clReleaseProgram(linked));
        OK(clReleaseProgram(included));
        OK(clReleaseProgram(from));
        snprintf(text, sizeof text, "kernel void k(global int *a) { a[get_global_id(0)] = %d + %d; }\n", getpid(), i);
        OK(clReleaseProgram(build(text)));
    }
}

static void *set_later(void *event) {
    sleep_ms(5);
    OK(clSetUserEventStatus(event, CL_COMPLETE));
    return NULL;
}

static void count_note(cl_event event, cl_int status, void *count) { (void)event, (void)status, ++*(_Atomic int *)count; }

static void wait_for_events(cl_command_queue queue) {
    static _Atomic int notes;
    (void)queue;
    cl_command_queue any = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem buffer = make_buffer(1 << 12);
    cl_kernel add = make_add(buffer, 10);
    size_t items = 1 << 10;
    int host[1 << 10] = {0};
    for (;;) {
        cl_event user = make_user_event(), events[3];
        pthread_t setter;
        OK(clEnqueueWriteBuffer(any, buffer, CL_FALSE, 0, sizeof host, host, 1, &user, &events[0]));
        OK(clEnqueueNDRangeKernel(any, add, 1, NULL, &items, NULL, 1, &events[0], &events[1]));
        OK(clEnqueueReadBuffer(any, buffer, CL_FALSE, 0, sizeof host, host, 1, &events[1], &events[2]));
        OK(clSetEventCallback(events[2], CL_COMPLETE, count_note, &notes));
        OK(pthread_create(&setter, NULL, set_later, user));
        OK(clWaitForEvents(1, &events[2]));
        pthread_join(setter, NULL);
        release_events(3, events);
        OK(clReleaseEvent(user));
    }
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(cl_command_queue queue);
    } moments[] = {{"start", launch}, {"launch", launch}, {"map", map}, {"build", build_programs}, {"wait", wait_for_events}};
    open_device();
    cl_command_queue queue = make_queue(0);
    puts("working");
    fflush(stdout);
    for (size_t i = 0; count > 1 && i < sizeof moments / sizeof *moments; i++)
        if (!strcmp(moments[i].name, words[1])) moments[i].run(queue);
    return 2;
}
