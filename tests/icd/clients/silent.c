/* A server that is stopped, and shows no life, and one that only takes long. */
#include "client.h"

static void signal_server(int number) {
    FILE *file = fopen(getenv("SERVER_PID"), "r");
    int pid;
    CHECK(file && fscanf(file, "%d", &pid) == 1);
    fclose(file);
    kill(pid, number);
}

static cl_event pause_for(cl_command_queue queue, int ms) {
    cl_kernel pause = make_kernel("pause");
    size_t one = 1;
    cl_event event;
    OK(clSetKernelArg(pause, 0, 4, &ms));
    OK(clEnqueueNDRangeKernel(queue, pause, 1, NULL, &one, NULL, 0, NULL, &event));
    OK(clReleaseKernel(pause));
    return event;
}

static void in_a_request(void) {
    cl_int error;
    signal_server(SIGSTOP);
    EQUAL((clCreateBuffer(context, 0, 16, NULL, &error), error), CL_DEVICE_NOT_AVAILABLE);
}

/* The socket takes no more before all is sent. */
static void in_a_long_request(void) {
    size_t size = 8 << 20;
    char *text = malloc(size);
    cl_int error;
    memset(text, ' ', size);
    cl_program large = clCreateProgramWithSource(context, 1, (const char *[]){text}, &size, &error);
    OK(error);
    signal_server(SIGSTOP);
    EQUAL(clBuildProgram(large, 1, &device, "", NULL, NULL), CL_DEVICE_NOT_AVAILABLE);
}

static void in_a_launch(void) {
    cl_command_queue queue = make_queue(0);
    cl_event event = pause_for(queue, 60000);
    signal_server(SIGSTOP);
    EQUAL(clFinish(queue), CL_DEVICE_NOT_AVAILABLE);
    EQUAL(clWaitForEvents(1, &event), CL_DEVICE_NOT_AVAILABLE);
}

static void in_a_full_ring(void) {
    cl_command_queue queue = make_queue(0);
    cl_mem buffer = make_buffer(4096);
    int pattern = 0;
    cl_int error = CL_SUCCESS;
    pause_for(queue, 60000);
    signal_server(SIGSTOP);
    for (int i = 0; i < 100000 && !error; i++)
        error = clEnqueueFillBuffer(queue, buffer, &pattern, 4, 0, 4096, 0, NULL, NULL);
    CHECK(error == CL_DEVICE_NOT_AVAILABLE || error == CL_OUT_OF_RESOURCES);
    EQUAL(clFinish(queue), CL_DEVICE_NOT_AVAILABLE);
}

/* A build that takes longer than a server may be silent. */
static void in_a_slow_build(void) {
    cl_int error;
    cl_program slow = clCreateProgramWithSource(context, 1, (const char *[]){"SLOW kernel void slow() {}"}, NULL, &error);
    OK(error);
    OK(clBuildProgram(slow, 1, &device, "", NULL, NULL));
    OK(clReleaseProgram(slow));
}

/* A launch that does. */
static void in_a_slow_launch(void) {
    cl_command_queue queue = make_queue(0);
    cl_event event = pause_for(queue, 4000);
    OK(clFinish(queue));
    OK(clReleaseEvent(event));
    OK(clReleaseCommandQueue(queue));
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"request", in_a_request}, {"long_request", in_a_long_request}, {"launch", in_a_launch}, {"ring", in_a_full_ring},
                 {"slow_build", in_a_slow_build}, {"slow_launch", in_a_slow_launch}};
    for (size_t i = 0; count > 1 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, words[1])) continue;
        open_device();
        cases[i].run();
        signal_server(SIGKILL);
        return 0;
    }
    return 2;
}
