/* Memory of the host that a transfer which does not block still uses: changed before the host knows that it is complete, and the
   same done well: `pending NAME` and `pending NAME well`. */
#include "client.h"
#include <sys/mman.h>

static bool well;
static cl_command_queue queue;
static cl_mem buffer;
static char memory[16384], other[16384];

static void set(int value, size_t bytes) { memset(memory, value, bytes); }

/* Two writes from one array, which is filled anew between them. */
static void two_writes(void) {
    cl_event first;
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 0, NULL, &first));
    if (well) OK(clWaitForEvents(1, &first));
    set(1, 4096);
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 4096, 4096, memory, 0, NULL, NULL));
    OK(clFinish(queue));
    set(2, 4096);
    OK(clReleaseEvent(first));
}

/* The write waits for the host itself. */
static void deferred_write(void) {
    cl_event user = make_user_event();
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 1, &user, NULL));
    if (!well) set(3, 8);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clFinish(queue));
    OK(clReleaseEvent(user));
}

/* What a read is still to bring is written by the host. */
static void overwritten_read(void) {
    OK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 0, NULL, NULL));
    if (!well) set(9, 4096);
    OK(clFinish(queue));
    set(9, 4096);
}

/* Rows: what lies between them is the host's. A blocking command behind it in order says that it is complete. */
static void rows(void) {
    size_t origin[3] = {0}, region[3] = {64, 8, 1};
    OK(clEnqueueWriteBufferRect(queue, buffer, CL_FALSE, origin, origin, region, 0, 0, 256, 0, memory, 0, NULL, NULL));
    for (int row = 0; row < 8; row++) memory[row * 256 + (well ? 64 : 63)] = 5;
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 8192, 64, other, 0, NULL, NULL));
    set(6, 4096);
}

/* Reads and writes of the same memory, in order: what they bring is no change of the host's. */
static void round_trip(void) {
    for (int round = 0; round < 3; round++) {
        OK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, round * 4096, 4096, memory, 0, NULL, NULL));
        OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 8192 - round * 4096, 4096, memory, 0, NULL, NULL));
    }
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 12288, 4096, memory, 0, NULL, NULL));
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 0, NULL, NULL));
    if (!well) memory[4095]++;
    OK(clFinish(queue));
}

static int done;
static void note_done(cl_event event, cl_int status, void *data) {
    (void)event, (void)status, (void)data;
    set(7, 4096);
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
}

/* A callback, or a question, tells the host. */
static void told_otherwise(void) {
    cl_event event, second;
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 0, NULL, &event));
    OK(clSetEventCallback(event, CL_COMPLETE, note_done, NULL));
    for (int i = 0; i < 1000 && !__atomic_load_n(&done, __ATOMIC_SEQ_CST); i++) sleep_ms(2);
    CHECK(done);
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 0, NULL, &second));
    if (!well) set(1, 16);
    while (status_of(second) != CL_COMPLETE) sleep_ms(1);
    set(8, 4096);
    OK(clReleaseEvent(event));
    OK(clReleaseEvent(second));
}

/* Another queue that waits for it says so too. */
static void other_queue(void) {
    cl_command_queue behind = make_queue(0);
    cl_event event;
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4096, memory, 0, NULL, &event));
    if (!well) set(4, 4096);
    OK(clFlush(queue));
    OK(clEnqueueReadBuffer(behind, buffer, CL_TRUE, 0, 64, other, 1, &event, NULL));
    set(5, 4096);
    OK(clFinish(queue));
    OK(clReleaseEvent(event));
    OK(clReleaseCommandQueue(behind));
}

/* Memory that is there no more. */
static void unmapped(void) {
    char *given = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 8192, given, 0, NULL, NULL));
    if (well) OK(clFinish(queue));
    munmap(given, 8192);
    OK(clFinish(queue));
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    {"two_writes", two_writes}, {"deferred_write", deferred_write}, {"overwritten_read", overwritten_read}, {"rows", rows},
    {"round_trip", round_trip}, {"told_otherwise", told_otherwise}, {"other_queue", other_queue}, {"unmapped", unmapped},
};

int main(int count, char **words) {
    if (count < 2) return 2;
    well = count > 2;
    open_device();
    queue = make_queue(0);
    buffer = make_buffer(sizeof memory);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(words[1], all[i].name)) all[i].run();
    OK(clReleaseMemObject(buffer));
    OK(clReleaseCommandQueue(queue));
    close_device();
    return 0;
}
