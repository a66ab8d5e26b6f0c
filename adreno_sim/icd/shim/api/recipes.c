/* Recipes: form, type, options, source, headers, parts (recipes again), behind a magic word and a sum of all bytes. */
#include "programs.h"

#define MAGIC_WORD 0x314d495342434cull /* reads LCBSIM1 */
#define DEPTH 8                        /* of recipes in recipes */

static uint64_t sum_of(const uint8_t *data, size_t size) { /* FNV-1a */
    uint64_t sum = 14695981039346656037ull;
    for (size_t i = 0; i < size; i++) sum = (sum ^ data[i]) * 1099511628211ull;
    return sum;
}

void begin_recipe(struct bytes *recipe, enum form form, cl_uint type, const char *options, const char *source) {
    put_u64(recipe, MAGIC_WORD);
    put_u64(recipe, 0); /* the sum comes here */
    put_u32(recipe, form);
    put_u32(recipe, type);
    put_text(recipe, options);
    put_text(recipe, source);
}

void add_header(struct bytes *headers, const char *name, const char *text) {
    put_text(headers, name);
    put_text(headers, text);
}

void end_recipe(struct bytes *recipe, uint32_t header_count, const struct bytes *headers, uint32_t part_count,
                const struct bytes *parts) {
    put_u32(recipe, header_count);
    put(recipe, headers ? headers->data : NULL, headers ? headers->size : 0);
    put_u32(recipe, part_count);
    put(recipe, parts ? parts->data : NULL, parts ? parts->size : 0);
    if (recipe->failed || (headers && headers->failed) || (parts && parts->failed)) {
        recipe->failed = true;
        return;
    }
    uint64_t sum = sum_of(recipe->data + 16, recipe->size - 16);
    memcpy(recipe->data + 8, &sum, sizeof sum);
}

struct parsed {
    uint32_t form, type, header_count, part_count;
    const void *options, *source;
    uint32_t options_bytes, source_bytes;
    struct reader headers, parts; /* from the first on */
};

static bool parse(const uint8_t *data, size_t size, struct parsed *found, int depth) {
    struct reader from = {data, data + size, false};
    uint32_t bytes;
    if (depth > DEPTH || get_u64(&from) != MAGIC_WORD || get_u64(&from) != sum_of(data + 16, size - 16)) return false;
    found->form = get_u32(&from);
    found->type = get_u32(&from);
    found->options = get_block(&from, &found->options_bytes);
    found->source = get_block(&from, &found->source_bytes);
    found->header_count = get_u32(&from);
    found->headers = from;
    for (uint32_t i = 0; i < 2ull * found->header_count && !from.failed; i++) get_block(&from, &bytes);
    found->part_count = get_u32(&from);
    found->parts = from;
    for (uint32_t i = 0; i < found->part_count && !from.failed; i++) {
        struct parsed part;
        const void *inner = get_block(&from, &bytes);
        if (!inner || bytes < 16 || !parse(inner, bytes, &part, depth + 1)) return false;
    }
    return !from.failed && from.at == from.end && found->form <= LINK_PARTS;
}

bool is_recipe(const uint8_t *data, size_t size, cl_uint *type) {
    struct parsed found;
    if (size < 16 || !parse(data, size, &found, 0)) return false;
    *type = found.type;
    return true;
}

void forget_program(struct link *link, uint32_t number) {
    uint64_t wide = number;
    if (number) enqueue_silently(link, ADRENO_COMMAND_FREE_PROGRAM, &wide, sizeof wide);
}

cl_int request_link(struct link *link, const char *options, uint32_t count, const uint32_t *parts, uint32_t *number,
                    struct bytes *reply) {
    struct bytes body = {0};
    *number = atomic_fetch_add(&link->programs, 1) + 1;
    put_u32(&body, *number);
    put_text(&body, options);
    put_u32(&body, count);
    put(&body, parts, count * sizeof *parts);
    return link_request(link, ADRENO_REQUEST_LINK, &body, reply);
}

static cl_int follow(struct link *link, struct parsed *recipe, uint32_t *number, struct bytes *reply);

static cl_int link_parts(struct link *link, struct parsed *recipe, uint32_t *number, struct bytes *reply) {
    uint32_t *parts = calloc(recipe->part_count + 1, sizeof *parts);
    char *options = malloc((size_t)recipe->options_bytes + 1);
    cl_int status = parts && options ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    uint32_t made = 0;
    for (; !status && made < recipe->part_count; made++) {
        struct parsed part;
        uint32_t bytes;
        const void *inner = get_block(&recipe->parts, &bytes);
        parse(inner, bytes, &part, 0);
        free(reply->data);
        *reply = (struct bytes){0};
        status = follow(link, &part, &parts[made], reply);
    }
    if (!status) {
        free(reply->data);
        memcpy(options, recipe->options, recipe->options_bytes);
        options[recipe->options_bytes] = 0;
        status = request_link(link, options, made, parts, number, reply);
    }
    for (uint32_t i = 0; i < made; i++) forget_program(link, parts[i]);
    free(parts);
    free(options);
    return status;
}

static cl_int follow(struct link *link, struct parsed *recipe, uint32_t *number, struct bytes *reply) {
    *reply = (struct bytes){0};
    if (recipe->form == LINK_PARTS) return link_parts(link, recipe, number, reply);
    struct bytes body = {0};
    *number = atomic_fetch_add(&link->programs, 1) + 1;
    put_u32(&body, *number);
    put_block(&body, recipe->source, recipe->source_bytes);
    put_block(&body, recipe->options, recipe->options_bytes);
    put_u32(&body, recipe->header_count);
    for (uint32_t i = 0; i < 2 * recipe->header_count; i++) {
        uint32_t bytes;
        const void *text = get_block(&recipe->headers, &bytes);
        put_block(&body, text, bytes);
    }
    uint32_t kind = recipe->form == BUILD_SOURCE ? ADRENO_REQUEST_BUILD : ADRENO_REQUEST_COMPILE;
    return link_request(link, kind, &body, reply);
}

cl_int follow_recipe(struct link *link, const uint8_t *data, size_t size, uint32_t *number, struct bytes *reply) {
    struct parsed found;
    *number = 0;
    *reply = (struct bytes){0};
    if (size < 16 || !parse(data, size, &found, 0)) return CL_INVALID_BINARY;
    return follow(link, &found, number, reply);
}
