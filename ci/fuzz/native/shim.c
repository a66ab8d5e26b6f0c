/* The shim's readers of bytes, under libFuzzer: a program's binary, which may come from anywhere, and the server's replies. */
#include "core/link.c"

#include "api/programs.h"

/* Gives recipes in recipes their magic words and sums, so that what lies behind is read too. */
static void seal(uint8_t *data, size_t size, int depth) {
    if (size < 16 || depth > 10) return;
    uint32_t bytes;
    struct reader from = {data + 24, data + size, size < 24};
    get_block(&from, &bytes), get_block(&from, &bytes);
    uint32_t headers = get_u32(&from);
    for (uint32_t i = 0; i < 2ull * headers && !from.failed; i++) get_block(&from, &bytes);
    for (uint32_t i = 0, parts = get_u32(&from); i < parts && !from.failed; i++) {
        const uint8_t *part = get_block(&from, &bytes);
        if (part) seal((uint8_t *)part, bytes, depth + 1);
    }
    uint64_t word = 0x314d495342434cull /* of recipes.c */, sum = 14695981039346656037ull;
    for (size_t i = 16; i < size; i++) sum = (sum ^ data[i]) * 1099511628211ull;
    memcpy(data, &word, 8), memcpy(data + 8, &sum, 8);
}

static void read_binary(struct link *link, uint8_t *data, size_t size) {
    cl_uint type;
    uint32_t number;
    struct bytes reply;
    seal(data, size, 0);
    is_recipe(data, size, &type);
    follow_recipe(link, data, size, &number, &reply);
    free(reply.data);
}

static void read_build(struct link *link, uint8_t *data, size_t size) {
    struct program program = {.link = link};
    struct bytes reply = {.data = malloc(size + 1), .size = size};
    memcpy(reply.data, data, size);
    reply.data[size] = 0;
    take_build(&program, CL_SUCCESS, 0, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, &reply, CL_BUILD_PROGRAM_FAILURE);
    program.number = 0;
    forget_build(&program);
}

static void read_hello(uint8_t *data, size_t size) {
    struct link link = {0};
    struct reader from = {data, data + size, false};
    link.device_answers = read_answers(&from, &link.device_count);
    if (from.failed) return;
    read_version(&link);
    for (cl_uint query = 0x1000; query < 0x1080; query++) {
        uint32_t bytes;
        link_answer(link.device_answers, link.device_count, query, &bytes);
        device_number(&link, query);
        for (unsigned place = 0; place < 4; place++) device_size(&link, query, place);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *given, size_t size) {
    static struct link lost; /* nothing is sent */
    atomic_store(&lost.lost, true);
    if (!size) return 0;
    uint8_t *data = malloc(size); /* of its very size, so that the sanitizer sees its end */
    memcpy(data, given + 1, size - 1);
    data = realloc(data, size > 1 ? size - 1 : 1);
    switch (given[0] % 3) {
        case 0: read_binary(&lost, data, size - 1); break;
        case 1: read_build(&lost, data, size - 1); break;
        default: read_hello(data, size - 1);
    }
    free(data);
    return 0;
}
