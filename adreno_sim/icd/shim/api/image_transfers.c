/* Reading and writing images from the host: always through staging, for only the server knows how texels lie. */
#include "common.h"

struct transfer image_transfer(const struct memory *image, const size_t *origin, const size_t *region) {
    size_t row = region[0] * image->texel;
    bool is_1d_array = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY; /* its region[1] counts layers of one row */
    return (struct transfer){
        .memory = image->number, .region = {region[0], region[1], region[2]}, .origin = {origin[0], origin[1], origin[2]},
        .staging_row = row, .staging_slice = is_1d_array ? row : row * region[1],
    };
}

struct copy image_copy(const struct memory *image, enum way way, const void *host, const size_t *region, size_t row,
                       size_t slice) {
    return (struct copy){
        .way = way, .host = (uint8_t *)host, .row = region[0] * image->texel, .rows = region[1], .slices = region[2],
        .host_row = row, .host_slice = slice,
    };
}

cl_int fill_image(struct memory *image, const void *host) {
    static const size_t origin[3];
    size_t extent[3];
    image_extent(image, extent);
    struct transfer body = image_transfer(image, origin, extent);
    struct copy copy = image_copy(image, TO_STAGING, host, extent, image->host_row, image->host_slice);
    return write_image_now(image->link, &copy, &body);
}

/* Whether the pitches of the host's memory may be given for this kind of image, and hold the region. */
static bool pitches_fit(const struct memory *image, const size_t *region, size_t row, size_t slice) {
    bool has_slices = image->type == CL_MEM_OBJECT_IMAGE3D || image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                      image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    size_t least = region[0] * image->texel, rows = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : region[1];
    if (row && row < least) return false;
    if (slice && !has_slices) return false;
    return !slice || slice >= (row ? row : least) * rows;
}

static cl_int transfer(cl_command_queue queue, bool writing, TEXELS, const void *host, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    cl_bitfield forbidden = CL_MEM_HOST_NO_ACCESS | (writing ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY);
    if ((error = check_memory(queue, image, true, forbidden)) || (error = check_region(image, origin, region))) return error;
    if (!host || !pitches_fit(image, region, row_pitch, slice_pitch)) return CL_INVALID_VALUE;
    size_t row, slice;
    host_layout(image, region, row_pitch, slice_pitch, &row, &slice);
    struct object *held[] = {&image->head};
    struct transfer body = image_transfer(image, origin, region);
    struct command command = {
        .queue = queue, .held = held, .held_count = 1, .body = &body, .body_size = sizeof body,
        .type = writing ? CL_COMMAND_WRITE_IMAGE : CL_COMMAND_READ_IMAGE,
        .kind = writing ? ADRENO_COMMAND_WRITE : ADRENO_COMMAND_READ,
        .copy = image_copy(image, writing ? TO_STAGING : FROM_STAGING, host, region, row, slice),
    };
    return enqueue(&command, wait_count, waits, event, blocking);
}

cl_int API(clEnqueueReadImage)(cl_command_queue queue, TEXELS, void *host, WAITS) {
    return transfer(queue, false, TEXELED, host, WAITED);
}

cl_int API(clEnqueueWriteImage)(cl_command_queue queue, TEXELS, const void *host, WAITS) {
    return transfer(queue, true, TEXELED, host, WAITED);
}
