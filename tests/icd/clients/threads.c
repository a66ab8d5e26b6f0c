/* Many threads on the same context, with queues of their own and one that they share. */
#include "client.h"

static cl_command_queue shared;
static cl_mem common;
static int rounds = 200;

static void *hammer(void *of) {
    int self = (int)(long)of;
    cl_command_queue own = make_queue(self % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    for (int i = 0; i < rounds; i++) {
        cl_mem buffer = make_buffer(4096);
        int pattern = self * 1000 + i, found[16];
        cl_event filled, user = make_user_event(), read, marker;
        OK(clEnqueueFillBuffer(own, buffer, &pattern, 4, 0, 4096, 1, &user, &filled));
        OK(clEnqueueReadBuffer(own, buffer, CL_FALSE, 64, 64, found, 1, &filled, &read));
        OK(clEnqueueMarkerWithWaitList(shared, 1, &read, &marker));
        OK(clEnqueueWriteBuffer(shared, common, CL_TRUE, 4 * self, 4, &pattern, 0, NULL, NULL));
        OK(clRetainContext(context));
        OK(clSetUserEventStatus(user, CL_COMPLETE));
        OK(clWaitForEvents(1, &marker));
        for (int j = 0; j < 16; j++) EQUAL(found[j], pattern);
        OK(clReleaseContext(context));
        release_events(4, (cl_event[]){filled, user, read, marker});
        OK(clReleaseMemObject(buffer));
        if (i % 50 == 0) OK(clFinish(shared));
    }
    OK(clFinish(own));
    OK(clReleaseCommandQueue(own));
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[8];
    int found[8];
    if (count > 1) rounds = atoi(words[1]);
    open_device();
    shared = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    common = make_buffer(64);
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, hammer, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    OK(clFinish(shared));
    OK(clEnqueueReadBuffer(shared, common, CL_TRUE, 0, 32, found, 0, NULL, NULL));
    for (int i = 0; i < 8; i++) CHECK(found[i] / 1000 == i);
    OK(clReleaseMemObject(common));
    OK(clReleaseCommandQueue(shared));
    close_device();
    return 0;
}
