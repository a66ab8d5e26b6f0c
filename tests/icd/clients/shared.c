/* Shared virtual memory: what is right on every device that has it, then what is not, by name; "well" before names does it right. */
#include "client.h"

typedef struct node {
    int value;
    int pad;
    struct node *next;
} node;

static const char *const code =
    "typedef struct node { int value; int pad; global struct node *next; } node;\n"
    "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }\n"
    "kernel void walk(global node *head, global int *sum) {\n"
    "  int s = 0;\n"
    "  while (head) { s += head->value; head->value = -s; head = head->next; }\n"
    "  *sum = s;\n"
    "}\n"
    "kernel void link(global node *nodes, int n) {\n"
    "  int i = get_global_id(0);\n"
    "  nodes[i].value = i;\n"
    "  nodes[i].next = i + 1 < n ? nodes + i + 1 : 0;\n"
    "}\n"
    "kernel void before(global int *middle, global int *out) { int i = get_global_id(0); out[i] = middle[i - 2]; }\n"
    "#ifdef COUNT\n"
    "kernel void count(global atomic_int *n) {\n"
    "  atomic_fetch_add_explicit(n, 1, memory_order_relaxed, memory_scope_all_svm_devices);\n"
    "}\n"
    "#endif\n"
    "kernel void same(global int *a) { a[0] = get_global_id(0); }\n"
    "kernel void copy(global int *to, global const int *from) { to[get_global_id(0)] = from[get_global_id(0)]; }\n"
    "kernel void late(global int *a, int to) { a[get_global_id(0) + to] = 1; }\n";

static cl_command_queue queue;
static cl_program shared_program;
static bool has_count; /* PoCL's compiler lacks the scope */

static cl_kernel get(const char *name) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(shared_program, name, &error);
    OK(error);
    return kernel;
}

static void *allocate(cl_bitfield grain, size_t bytes) {
    void *found = clSVMAlloc(context, CL_MEM_READ_WRITE | grain, bytes, 0);
    CHECK(found);
    return found;
}

static void run_kernel(cl_kernel kernel, size_t items) {
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clFinish(queue));
}

static void *map(void *pointer, size_t bytes, cl_bitfield flags) {
    OK(clEnqueueSVMMap(queue, CL_TRUE, flags, pointer, bytes, 0, NULL, NULL));
    return pointer;
}

static void unmap(void *pointer) {
    OK(clEnqueueSVMUnmap(queue, pointer, 0, NULL, NULL));
    OK(clFinish(queue));
}

static void test_coarse(void) {
    int *a = map(allocate(0, 400), 400, CL_MAP_WRITE);
    for (int i = 0; i < 100; i++) a[i] = i;
    unmap(a);
    cl_kernel twice = get("twice"), before = get("before");
    OK(clSetKernelArgSVMPointer(twice, 0, a));
    run_kernel(twice, 100);
    OK(clSetKernelArgSVMPointer(twice, 0, a + 50)); /* into the middle */
    run_kernel(twice, 50);
    map(a, 400, CL_MAP_READ);
    for (int i = 0; i < 100; i++) EQUAL(a[i], i * (i < 50 ? 2 : 4));
    unmap(a);
    int *out = allocate(0, 64), found[16];
    OK(clSetKernelArgSVMPointer(before, 0, a + 2)); /* what lies before a pointer is the same allocation's */
    OK(clSetKernelArgSVMPointer(before, 1, out));
    run_kernel(before, 16);
    OK(clEnqueueSVMMemcpy(queue, CL_TRUE, found, out, sizeof found, 0, NULL, NULL));
    for (int i = 0; i < 16; i++) EQUAL(found[i], 2 * i);
    OK(clReleaseKernel(twice));
    OK(clReleaseKernel(before));
    clSVMFree(context, a);
    clSVMFree(context, out);
}

static void test_lists(void) {
    cl_kernel walk = get("walk"), link = get("link");
    const int n = 64, ends = 8;
    node *nodes = allocate(0, n * sizeof *nodes);
    int *sum = allocate(0, sizeof *sum);
    OK(clSetKernelArgSVMPointer(link, 0, nodes));
    OK(clSetKernelArg(link, 1, sizeof n, &n));
    run_kernel(link, n);
    map(nodes, n * sizeof *nodes, CL_MAP_READ | CL_MAP_WRITE); /* the device's pointers are the host's */
    int count = 0;
    for (node *at = nodes; at; at = at->next) EQUAL(at->value, count++);
    EQUAL(count, n);
    node *tail = map(allocate(0, ends * sizeof *tail), ends * sizeof *tail, CL_MAP_WRITE_INVALIDATE_REGION);
    for (int i = 0; i < ends; i++) tail[i] = (node){1000, 0, i + 1 < ends ? tail + i + 1 : NULL};
    nodes[n - 1].next = tail; /* the host's are the device's, into another allocation */
    unmap(nodes);
    unmap(tail);
    OK(clSetKernelArgSVMPointer(walk, 0, nodes + 1));
    OK(clSetKernelArgSVMPointer(walk, 1, sum));
    void *others[] = {tail, nodes};
    OK(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof others, others));
    run_kernel(walk, 1);
    map(sum, sizeof *sum, CL_MAP_READ);
    EQUAL(*sum, n * (n - 1) / 2 + 1000 * ends);
    unmap(sum);
    OK(clReleaseKernel(walk));
    OK(clReleaseKernel(link));
    void *all[] = {nodes, sum, tail};
    OK(clEnqueueSVMFree(queue, 3, all, NULL, NULL, 0, NULL, NULL));
    OK(clFinish(queue));
}

static void test_fine(void) {
    cl_bitfield has = 0;
    OK(clGetDeviceInfo(device, 0x1053, sizeof has, &has, NULL));
    if (!(has & 2)) return;
    bool atomics = has & 8 && has_count;
    int *a = allocate(1 << 10 | (atomics ? 1 << 11 : 0), 400);
    for (int i = 0; i < 100; i++) a[i] = i;
    cl_kernel twice = get("twice");
    OK(clSetKernelArgSVMPointer(twice, 0, a));
    run_kernel(twice, 100);
    for (int i = 0; i < 100; i++) EQUAL(a[i], 2 * i);
    OK(clReleaseKernel(twice));
    if (atomics) {
        cl_kernel count = get("count");
        a[0] = 7;
        OK(clSetKernelArgSVMPointer(count, 0, a));
        run_kernel(count, 1000);
        EQUAL(a[0], 1007);
        OK(clReleaseKernel(count));
    }
    clSVMFree(context, a);
}

static void test_commands(void) {
    unsigned char *a = allocate(0, 256), host[256], back[256];
    for (int i = 0; i < 256; i++) host[i] = (unsigned char)(3 * i);
    for (int blocking = 0; blocking < 2; blocking++) {
        cl_event event;
        OK(clEnqueueSVMMemFill(queue, a, "ab", 2, 256, 0, NULL, NULL));
        OK(clEnqueueSVMMemcpy(queue, blocking, a + 16, host, 100, 0, NULL, NULL));
        OK(clEnqueueSVMMemcpy(queue, blocking, a + 128, a + 16, 64, 0, NULL, &event));
        OK(clReleaseEvent(event));
        OK(clEnqueueSVMMemcpy(queue, blocking, back, a, 256, 0, NULL, NULL));
        OK(clFinish(queue));
        for (int i = 0; i < 256; i++) {
            int at = i >= 128 && i < 192 ? i - 112 : i;
            EQUAL(back[i], at >= 16 && at < 116 ? host[at - 16] : "ab"[at % 2]);
        }
    }
    char version[128];
    OK(clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version, version, NULL));
    if (strncmp(version, "OpenCL 2.0", 10)) OK(clEnqueueSVMMigrateMem(queue, 1, (const void *[]){a}, NULL, 0, 0, NULL, NULL));
    cl_kernel twice = get("twice");
    OK(clSetKernelExecInfo(twice, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof a, &a));
    OK(clSetKernelExecInfo(twice, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, NULL));
    OK(clReleaseKernel(twice));
    cl_int error;
    cl_bool uses = CL_FALSE;
    int *words = (int *)a;
    cl_mem over = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 256, a, &error);
    OK(error);
    OK(clGetMemObjectInfo(over, CL_MEM_USES_SVM_POINTER, sizeof uses, &uses, NULL));
    EQUAL(uses, CL_TRUE);
    const int ones = 1;
    OK(clEnqueueFillBuffer(queue, over, &ones, sizeof ones, 0, 256, 0, NULL, NULL));
    int *mapped = clEnqueueMapBuffer(queue, over, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 256, 0, NULL, NULL, &error);
    OK(error);
    CHECK(mapped == words && words[63] == 1);
    words[0] = 5;
    OK(clEnqueueUnmapMemObject(queue, over, mapped, 0, NULL, NULL));
    twice = get("twice");
    OK(clSetKernelArg(twice, 0, sizeof over, &over));
    run_kernel(twice, 64);
    OK(clEnqueueSVMMemcpy(queue, CL_TRUE, back, a, 8, 0, NULL, NULL));
    EQUAL(((int *)back)[0], 10);
    EQUAL(((int *)back)[1], 2);
    OK(clReleaseKernel(twice));
    OK(clReleaseMemObject(over));
    clSVMFree(context, a);
}

static void test_errors(void) {
    unsigned char *a = allocate(0, 256);
    cl_kernel twice = get("twice");
    cl_int error;
    EQUAL(clEnqueueSVMMemcpy(queue, CL_TRUE, a, a + 10, 20, 0, NULL, NULL), CL_MEM_COPY_OVERLAP);
    EQUAL(clEnqueueSVMMemcpy(queue, CL_TRUE, NULL, a, 20, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueSVMMemFill(queue, a, "abc", 3, 255, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, NULL, 16, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, a, 0, 0, NULL, NULL), CL_INVALID_VALUE);
    EQUAL(clSetKernelArgSVMPointer(twice, 1, a), CL_INVALID_ARG_INDEX);
    CHECK(!clSVMAlloc(context, CL_MEM_READ_WRITE, 0, 0));
    CHECK(!clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 3));
    CHECK(!clSVMAlloc(context, CL_MEM_READ_WRITE | 1 << 11, 64, 0)); /* atomics without fine grain */
    clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 512, a, &error);
    EQUAL(error, CL_INVALID_BUFFER_SIZE);
    OK(clReleaseKernel(twice));
    clSVMFree(context, a);
}

static void misuse(const char *name, bool well) {
    const int n = 16;
    int *a = allocate(0, n * sizeof *a), *b = allocate(0, n * sizeof *b), zero = 0;
    cl_kernel twice = get("twice"), copy = get("copy"), walk = get("walk"), late = get("late"), same = get("same");
    if (strcmp(name, "unwritten") || well) OK(clEnqueueSVMMemFill(queue, a, &zero, 4, n * sizeof *a, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clSetKernelArgSVMPointer(twice, 0, a));
    if (!strcmp(name, "unwritten")) {
        run_kernel(twice, n);
        map(a, 4, CL_MAP_READ);
        unmap(a);
    } else if (!strcmp(name, "unwritten_fine")) {
        int *fine = allocate(CL_MEM_SVM_FINE_GRAIN_BUFFER, 64);
        for (int i = 0; i < (well ? 16 : 15); i++) fine[i] = i;
        OK(clSetKernelArgSVMPointer(copy, 0, a));
        OK(clSetKernelArgSVMPointer(copy, 1, fine));
        run_kernel(copy, 16);
        OK(clEnqueueSVMMemcpy(queue, CL_TRUE, &zero, a + 15, 4, 0, NULL, NULL));
        clSVMFree(context, fine);
    } else if (!strcmp(name, "unmapped")) {
        if (well) map(a, 4, CL_MAP_WRITE);
        a[0] = 3;
        if (well) unmap(a);
        run_kernel(twice, n);
    } else if (!strcmp(name, "unmapped_at_first")) {
        if (well) map(b, n * sizeof *b, CL_MAP_WRITE);
        for (int i = 0; i < n; i++) b[i] = i;
        if (well) unmap(b);
        OK(clSetKernelArgSVMPointer(twice, 0, b));
        run_kernel(twice, n);
    } else if (!strcmp(name, "still_mapped")) {
        map(a, 4, CL_MAP_WRITE);
        if (well) unmap(a);
        run_kernel(twice, n);
        if (!well) unmap(a);
    } else if (!strcmp(name, "read_map")) {
        int *mapped = map(a, 8, well ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ);
        mapped[1] = 3;
        unmap(a);
        map(a, 8, CL_MAP_WRITE);
        map(a + 1, 4, CL_MAP_WRITE); /* OpenCL does not forbid it here */
        unmap(a + 1);
        unmap(a);
    } else if (!strcmp(name, "bounds")) {
        int to = well ? 0 : 1;
        OK(clSetKernelArgSVMPointer(late, 0, a + 8));
        OK(clSetKernelArg(late, 1, sizeof to, &to));
        run_kernel(late, 8);
    } else if (!strcmp(name, "race")) {
        OK(clSetKernelArgSVMPointer(same, 0, a));
        run_kernel(same, well ? 1 : 64);
    } else if (!strcmp(name, "not_told") || !strcmp(name, "freed_in_list")) {
        node *first = map(allocate(0, sizeof *first), sizeof *first, CL_MAP_WRITE), *second = allocate(0, sizeof *second);
        map(second, sizeof *second, CL_MAP_WRITE);
        *first = (node){1, 0, second};
        *second = (node){2, 0, NULL};
        unmap(first);
        unmap(second);
        bool told = well || !strcmp(name, "freed_in_list");
        if (told) OK(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof second, &second));
        if (!strcmp(name, "freed_in_list") && !well) {
            OK(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof first, &first));
            clSVMFree(context, second);
        }
        OK(clSetKernelArgSVMPointer(walk, 0, first));
        OK(clSetKernelArgSVMPointer(walk, 1, a));
        run_kernel(walk, 1);
        clSVMFree(context, first);
        if (well || strcmp(name, "freed_in_list")) clSVMFree(context, second);
    } else if (!strcmp(name, "refused_pointer")) {
        size_t one = 1;
        OK(clSetKernelArgSVMPointer(copy, 0, a));
        EQUAL(clSetKernelArgSVMPointer(copy, 1, well ? (void *)a : (void *)&zero), well ? CL_SUCCESS : CL_INVALID_ARG_VALUE);
        cl_int error = clEnqueueNDRangeKernel(queue, copy, 1, NULL, &one, NULL, 0, NULL, NULL);
        EQUAL(error, well ? CL_SUCCESS : CL_INVALID_KERNEL_ARGS);
        OK(clFinish(queue));
    } else if (!strcmp(name, "freed")) {
        if (!well) clSVMFree(context, b);
        cl_int error = clSetKernelArgSVMPointer(twice, 0, b);
        EQUAL(error, well ? CL_SUCCESS : CL_INVALID_ARG_VALUE);
        if (!well) b = NULL;
    } else {
        CHECK(!"a case of this name");
    }
    cl_kernel all[] = {twice, copy, walk, late, same};
    for (int i = 0; i < 5; i++) OK(clReleaseKernel(all[i]));
    clSVMFree(context, a);
    clSVMFree(context, b);
}

int main(int count, char **words) {
    cl_int error;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    OK(error);
    queue = make_queue(0);
    shared_program = clCreateProgramWithSource(context, 1, (const char **)&code, NULL, &error);
    OK(error);
    has_count = !clBuildProgram(shared_program, 1, &device, "-cl-std=CL2.0 -DCOUNT", NULL, NULL);
    if (!has_count) OK(clBuildProgram(shared_program, 1, &device, "-cl-std=CL2.0", NULL, NULL));
    if (count > 1 && !strcmp(words[1], "errors")) {
        test_errors();
    } else if (count > 1) {
        bool well = !strcmp(words[1], "well");
        for (int i = well ? 2 : 1; i < count; i++) misuse(words[i], well);
    } else {
        test_coarse();
        test_lists();
        test_fine();
        test_commands();
    }
    OK(clReleaseProgram(shared_program));
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseContext(context));
    return 0;
}
