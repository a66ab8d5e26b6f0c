/* How programs and servers end: leaks, destructors, fork, a server that is killed, a host that ends amid work. */
#include "client.h"
#include <signal.h>

static void kill_server(void) {
    FILE *file = fopen(getenv("SERVER_PID"), "r");
    int pid;
    CHECK(file && fscanf(file, "%d", &pid) == 1);
    fclose(file);
    kill(pid, SIGKILL);
}

static void leak(void) {
    open_device();
    make_queue(0);
    make_buffer(16);
    exit(0);
}

static int ended[3];
static void note_memory(cl_mem memory, void *place) { (void)memory, *(int *)place = ++ended[0]; }
static void note_context(cl_context it, void *place) { (void)it, *(int *)place = ++ended[0]; }

static void destructors(void) {
    open_device();
    OK(clSetContextDestructorCallback(context, note_context, &ended[2]));
    cl_mem buffer = make_buffer(16);
    OK(clSetMemObjectDestructorCallback(buffer, note_memory, &ended[1]));
    cl_command_queue queue = make_queue(0);
    cl_event user = make_user_event();
    int pattern = 0;
    OK(clEnqueueFillBuffer(queue, buffer, &pattern, 4, 0, 16, 1, &user, NULL));
    OK(clReleaseMemObject(buffer));
    EQUAL(ended[1], 0); /* a command still uses it */
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clFinish(queue));
    EQUAL(ended[1], 1);
    OK(clReleaseEvent(user));
    OK(clReleaseCommandQueue(queue));
    close_device();
    EQUAL(ended[2], 2);
    EQUAL(clRetainContext(context), CL_INVALID_CONTEXT);
}

/* The child's calls fail until it asks for platforms, and then it has a server of its own. */
static void fork_child(void) {
    open_device();
    cl_command_queue queue = make_queue(0);
    struct list list = make_list(queue);
    pid_t child = fork();
    if (child == 0) {
        cl_int error;
        EQUAL(clFinish(queue), CL_DEVICE_NOT_AVAILABLE);
        EQUAL((clCreateBuffer(context, 0, 16, NULL, &error), error), CL_DEVICE_NOT_AVAILABLE);
        EQUAL((clCreateContext(NULL, 1, &device, NULL, NULL, &error), error), CL_DEVICE_NOT_AVAILABLE);
        OK(clReleaseCommandQueue(queue));
        open_device();
        queue = make_queue(0);
        list = make_list(queue);
        append(queue, &list, 5, 0, NULL, NULL);
        check_list(queue, &list, 1, (int[]){5});
        OK(clReleaseCommandQueue(queue));
        close_device();
        exit(0);
    }
    int status;
    append(queue, &list, 6, 0, NULL, NULL);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    check_list(queue, &list, 1, (int[]){6});
    OK(clReleaseCommandQueue(queue));
    close_device();
    CHECK(wait(NULL) < 0); /* the server is no child of ours */
}

/* Every wait ends when the server is killed, whatever it waits for. */
static void *wait_for(void *event) {
    cl_int status = clWaitForEvents(1, (cl_event *)event);
    CHECK(status == CL_DEVICE_NOT_AVAILABLE || status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    return NULL;
}

static _Atomic int notes;
static void count_note(cl_event event, cl_int status, void *data) {
    (void)event, (void)data;
    CHECK(status < 0);
    notes++;
}

static void server_killed(void) {
    open_device();
    cl_command_queue queue = make_queue(0);
    cl_kernel pause = make_kernel("pause");
    int ms = 60000;
    size_t one = 1;
    cl_event running, held, user = make_user_event();
    pthread_t threads[3];
    OK(clSetKernelArg(pause, 0, 4, &ms));
    OK(clEnqueueNDRangeKernel(queue, pause, 1, NULL, &one, NULL, 0, NULL, &running));
    OK(clEnqueueNDRangeKernel(queue, pause, 1, NULL, &one, NULL, 1, &user, &held));
    OK(clSetEventCallback(held, CL_COMPLETE, count_note, NULL));
    pthread_create(&threads[0], NULL, wait_for, &running);
    pthread_create(&threads[1], NULL, wait_for, &held);
    pthread_create(&threads[2], NULL, wait_for, &user);
    sleep_ms(20);
    kill_server();
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 5000 && !notes; i++) sleep_ms(1);
    EQUAL(notes, 1);
    EQUAL(clFinish(queue), CL_DEVICE_NOT_AVAILABLE);
    EQUAL(status_of(running), CL_DEVICE_NOT_AVAILABLE);
    cl_int error;
    EQUAL((clCreateBuffer(context, 0, 16, NULL, &error), error), CL_DEVICE_NOT_AVAILABLE);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    release_events(3, (cl_event[]){user, held, running});
    OK(clReleaseKernel(pause));
    OK(clReleaseCommandQueue(queue));
    close_device();
}

static char told[256];
static void note_failure(const char *text, const void *more, size_t bytes, void *data) {
    CHECK(!more && !bytes && data == told);
    snprintf(told, sizeof told, "%s", text);
    notes++;
}

/* The context's callback hears of commands that fail, and of no other. */
static void notice(void) {
    cl_int error;
    open_device();
    close_device();
    context = clCreateContext(NULL, 1, &device, note_failure, told, &error);
    OK(error);
    program = clCreateProgramWithSource(context, 1, (const char *[]){source}, NULL, &error);
    OK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_command_queue queue = make_queue(0);
    cl_kernel fails = make_kernel("fail");
    size_t one = 1;
    struct list list = make_list(queue);
    append(queue, &list, 5, 0, NULL, NULL);
    check_list(queue, &list, 1, (int[]){5});
    EQUAL(notes, 0);
    OK(clEnqueueNDRangeKernel(queue, fails, 1, NULL, &one, NULL, 0, NULL, NULL));
    EQUAL(clFinish(queue), CL_OUT_OF_RESOURCES);
    for (int i = 0; i < 5000 && !notes; i++) sleep_ms(1);
    EQUAL(notes, 1);
    CHECK(strstr(told, ": fail failed with CL_OUT_OF_RESOURCES (-5)"));
    OK(clReleaseKernel(fails));
    OK(clReleaseCommandQueue(queue));
    close_device();
}

/* Is killed from outside, amid work. */
static void work(void) {
    open_device();
    cl_command_queue queue = make_queue(0);
    struct list list = make_list(queue);
    puts("working");
    fflush(stdout);
    for (;;) {
        cl_mem buffer = make_buffer(1 << 16);
        int pattern = 0;
        OK(clEnqueueFillBuffer(queue, buffer, &pattern, 4, 0, 1 << 16, 0, NULL, NULL));
        append(queue, &list, 0, 0, NULL, NULL);
        OK(clEnqueueWriteBuffer(queue, list.buffer, CL_FALSE, 0, 4, &pattern, 0, NULL, NULL));
        OK(clReleaseMemObject(buffer));
        OK(clFinish(queue));
    }
}

/* Kills the server at some moment of the work: calls fail, and none hangs. */
static void server_killed_amid_work(void) {
    open_device();
    cl_command_queue queue = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    int pattern = 0, count = 0;
    char bytes[4096];
    cl_int error = CL_SUCCESS;
    cl_mem buffer = make_buffer(4096);
    pid_t killer = fork();
    if (killer == 0) {
        sleep_ms(atoi(getenv("DELAY")));
        kill_server();
        _exit(0);
    }
    while (!error) {
        error = clEnqueueFillBuffer(queue, buffer, &pattern, 4, 0, 4096, 0, NULL, NULL);
        if (!error) error = clEnqueueReadBuffer(queue, buffer, count++ % 3 == 0, 0, 4096, bytes, 0, NULL, NULL);
        if (!error && count % 10 == 0) error = clFinish(queue);
    }
    CHECK(error == CL_DEVICE_NOT_AVAILABLE || error == CL_OUT_OF_RESOURCES);
    EQUAL(clFinish(queue), CL_DEVICE_NOT_AVAILABLE);
    waitpid(killer, NULL, 0);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseCommandQueue(queue));
    close_device();
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"leak", leak}, {"destructors", destructors}, {"fork", fork_child}, {"server_killed", server_killed},
        {"work", work}, {"notice", notice}, {"server_killed_amid_work", server_killed_amid_work},
    };
    for (size_t i = 0; count > 1 && i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, words[1])) return cases[i].run(), 0;
    return 2;
}
