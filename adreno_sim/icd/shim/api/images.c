/* Images: what a descriptor may say, formats, queries. */
#include "common.h"

static const struct {
    cl_uint type, kind;
} kinds[] = {
    {CL_MEM_OBJECT_IMAGE1D, ADRENO_KIND_IMAGE1D},
    {CL_MEM_OBJECT_IMAGE1D_BUFFER, ADRENO_KIND_IMAGE1D_BUFFER},
    {CL_MEM_OBJECT_IMAGE1D_ARRAY, ADRENO_KIND_IMAGE1D_ARRAY},
    {CL_MEM_OBJECT_IMAGE2D, ADRENO_KIND_IMAGE2D},
    {CL_MEM_OBJECT_IMAGE2D_ARRAY, ADRENO_KIND_IMAGE2D_ARRAY},
    {CL_MEM_OBJECT_IMAGE3D, ADRENO_KIND_IMAGE3D},
};

static uint32_t kind_of(cl_uint type) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type) return kinds[i].kind;
    return 0;
}

size_t texel_bytes(const cl_image_format *format) {
    static const uint8_t channels[] = {1, 1, 2, 2, 3, 4, 4, 4, 1, 1, 2, 3, 4, 1, 2, 3, 4, 4, 4, 4};
    static const uint8_t bytes[] = {1, 2, 1, 2, 0, 0, 0, 1, 2, 4, 1, 2, 4, 2, 4};
    cl_uint order = format->image_channel_order - CL_R, type = format->image_channel_data_type - CL_SNORM_INT8;
    if (format->image_channel_data_type == CL_UNORM_SHORT_565 || format->image_channel_data_type == CL_UNORM_SHORT_555) return 2;
    if (format->image_channel_data_type == CL_UNORM_INT_101010 || format->image_channel_data_type == CL_UNORM_INT_101010_2)
        return 4;
    if (order >= sizeof channels || type >= sizeof bytes) return 0;
    return (size_t)channels[order] * bytes[type];
}

static bool is_supported(const struct link *link, const cl_image_format *format, uint32_t kind) {
    for (uint32_t i = 0; i < link->format_count; i++) {
        uint32_t found[3];
        memcpy(found, link->formats + 12 * i, sizeof found);
        if (found[0] == format->image_channel_order && found[1] == format->image_channel_data_type) return found[2] >> kind & 1;
    }
    return false;
}

void host_layout(const struct memory *image, const size_t *region, size_t row_pitch, size_t slice_pitch, size_t *row,
                 size_t *slice) {
    *row = row_pitch ? row_pitch : region[0] * image->texel;
    if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY && slice_pitch) *row = slice_pitch;
    *slice = slice_pitch ? slice_pitch : *row * region[1];
}

void image_extent(const struct memory *image, size_t extent[3]) {
    const cl_image_desc *desc = &image->desc;
    extent[0] = desc->image_width;
    extent[1] = extent[2] = 1;
    switch (image->type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY: extent[1] = desc->image_array_size; break;
    case CL_MEM_OBJECT_IMAGE2D: extent[1] = desc->image_height; break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY: extent[1] = desc->image_height, extent[2] = desc->image_array_size; break;
    case CL_MEM_OBJECT_IMAGE3D: extent[1] = desc->image_height, extent[2] = desc->image_depth; break;
    default: break;
    }
}

cl_int check_region(const struct memory *image, const size_t *origin, const size_t *region) {
    size_t extent[3];
    if (!origin || !region) return CL_INVALID_VALUE;
    image_extent(image, extent);
    for (unsigned i = 0; i < 3; i++)
        if (!region[i] || !inside(origin[i], region[i], extent[i]))
            return refuse_call(CL_INVALID_VALUE, NULL, "region %zu x %zu x %zu at (%zu, %zu, %zu) of an image of %zu x %zu x %zu",
                               region[0], region[1], region[2], origin[0], origin[1], origin[2], extent[0], extent[1], extent[2]);
    return CL_SUCCESS;
}

/* What the queries of the device say on sizes. */
static bool is_too_large(const struct link *link, const cl_image_desc *desc) {
    size_t width = device_size(link, CL_DEVICE_IMAGE2D_MAX_WIDTH, 0), height = device_size(link, CL_DEVICE_IMAGE2D_MAX_HEIGHT, 0);
    size_t layers = device_size(link, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, 0);
    switch (desc->image_type) {
    case CL_MEM_OBJECT_IMAGE1D: return desc->image_width > width;
    case CL_MEM_OBJECT_IMAGE1D_BUFFER: return desc->image_width > device_size(link, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, 0);
    case CL_MEM_OBJECT_IMAGE1D_ARRAY: return desc->image_width > width || desc->image_array_size > layers;
    case CL_MEM_OBJECT_IMAGE2D: return desc->image_width > width || desc->image_height > height;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        return desc->image_width > width || desc->image_height > height || desc->image_array_size > layers;
    default:
        return desc->image_width > device_size(link, CL_DEVICE_IMAGE3D_MAX_WIDTH, 0) ||
               desc->image_height > device_size(link, CL_DEVICE_IMAGE3D_MAX_HEIGHT, 0) ||
               desc->image_depth > device_size(link, CL_DEVICE_IMAGE3D_MAX_DEPTH, 0);
    }
}

/* Sets the fields that the kind of image does not use, and checks the others. */
static cl_int settle_size(const struct link *link, cl_image_desc *desc) {
    cl_uint type = desc->image_type;
    bool has_height = type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
    bool is_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    if (!has_height) desc->image_height = 1;
    if (type != CL_MEM_OBJECT_IMAGE3D) desc->image_depth = 1;
    if (!is_array) desc->image_array_size = 1;
    if (!desc->image_width || !desc->image_height || !desc->image_depth || !desc->image_array_size || is_too_large(link, desc))
        return CL_INVALID_IMAGE_SIZE;
    return CL_SUCCESS;
}

cl_int check_image(const struct link *link, const cl_image_format *format, cl_image_desc *desc, uint32_t *kind) {
    cl_int wrong = CL_SUCCESS;
    *kind = 0;
    if (format && !texel_bytes(format)) return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    if (!desc) return wrong;
    *kind = kind_of(desc->image_type);
    if (!*kind || desc->num_mip_levels || desc->num_samples) return CL_INVALID_IMAGE_DESCRIPTOR;
    if ((wrong = settle_size(link, desc))) return wrong;
    return !format || is_supported(link, format, *kind) ? CL_SUCCESS : CL_IMAGE_FORMAT_NOT_SUPPORTED;
}

/* Checks the pitches of the host's memory, or of a buffer or image under the new one. */
static cl_int check_pitches(const cl_image_desc *desc, const void *host, size_t texel) {
    size_t row = desc->image_row_pitch, slice = desc->image_slice_pitch, least = desc->image_width * texel;
    bool has_slices = desc->image_type == CL_MEM_OBJECT_IMAGE3D || desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                      desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (!host && !desc->mem_object) return row || slice ? CL_INVALID_IMAGE_DESCRIPTOR : CL_SUCCESS;
    cl_int wrong = desc->mem_object ? CL_INVALID_IMAGE_FORMAT_DESCRIPTOR : CL_INVALID_IMAGE_DESCRIPTOR;
    if (row && (row < least || row % texel)) return wrong;
    if (!slice || !has_slices) return CL_SUCCESS;
    size_t used = (row ? row : least) * (desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : desc->image_height);
    return slice < used || slice % (row ? row : least) ? wrong : CL_SUCCESS;
}

static cl_int check_parent(const struct context *context, const cl_image_desc *desc, const cl_image_format *format) {
    const struct memory *parent = desc->mem_object;
    cl_uint type = desc->image_type;
    if (!parent) return type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? CL_INVALID_IMAGE_DESCRIPTOR : CL_SUCCESS;
    if (!memory_lives(parent) || parent->context != context) return CL_INVALID_IMAGE_DESCRIPTOR;
    if (is_image(parent)) {
        if (type != CL_MEM_OBJECT_IMAGE2D || parent->type != CL_MEM_OBJECT_IMAGE2D) return CL_INVALID_IMAGE_DESCRIPTOR;
        if (parent->desc.image_width != desc->image_width || parent->desc.image_height != desc->image_height)
            return CL_INVALID_IMAGE_DESCRIPTOR;
        return texel_bytes(format) == parent->texel ? CL_SUCCESS : CL_IMAGE_FORMAT_MISMATCH;
    }
    /* A device would use the host's memory itself. Which kinds of images lie over buffers, the server knows. */
    bool aligned = (uintptr_t)parent->host % base_alignment(context->link, type, texel_bytes(format)) == 0;
    return aligned ? CL_SUCCESS : CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
}

static cl_mem make_image(cl_context context, const cl_properties *properties, cl_bitfield flags, const cl_image_format *format,
                         const cl_image_desc *given, void *host, cl_int *error, void *made_at) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    if (properties && properties[0]) return fail(error, CL_INVALID_PROPERTY);
    struct link *link = context->link;
    if (link_lost(link)) return fail(error, CL_DEVICE_NOT_AVAILABLE);
    cl_int wrong = check_flags(flags, host);
    if (wrong == CL_INVALID_VALUE) return fail(error, wrong);
    if (!format || !texel_bytes(format)) return fail(error, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    uint32_t kind = given ? kind_of(given->image_type) : 0;
    if (!kind || given->num_mip_levels || given->num_samples) return fail(error, CL_INVALID_IMAGE_DESCRIPTOR);
    if (!device_number(link, CL_DEVICE_IMAGE_SUPPORT)) return fail(error, CL_INVALID_OPERATION);
    cl_image_desc desc = *given;
    size_t texel = texel_bytes(format);
    if ((wrong = settle_size(link, &desc)) || (wrong = check_parent(context, &desc, format))) return fail(error, wrong);
    if ((wrong = check_pitches(&desc, host, texel))) return fail(error, wrong);
    if (desc.mem_object ? host != NULL : (wrong = check_flags(flags, host)))
        return fail(error, desc.mem_object ? CL_INVALID_HOST_PTR : wrong);
    if (!is_supported(link, format, kind)) return fail(error, CL_IMAGE_FORMAT_NOT_SUPPORTED);
    struct memory *made = new_memory(context, flags, given->image_type, made_at);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    made->kind = kind;
    made->format = *format;
    made->desc = desc;
    made->texel = texel;
    long count = copy_list(properties, &made->list);
    made->list_count = count > 0 ? (size_t)count : 0;
    if (desc.mem_object) {
        adopt(made, desc.mem_object);
        if (!(flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)))
            made->flags = (made->flags & ~(cl_bitfield)CL_MEM_READ_WRITE) | (made->parent->flags & 7);
    }
    if (!(wrong = place_memory(made)) && host) {
        size_t extent[3];
        image_extent(made, extent);
        host_layout(made, extent, desc.image_row_pitch, desc.image_slice_pitch, &made->host_row, &made->host_slice);
        wrong = fill_image(made, host);
        if (flags & CL_MEM_USE_HOST_PTR) made->host = host;
    }
    if (!wrong) return succeed(error, made);
    object_release(made, MEMORY, 0);
    return fail(error, wrong);
}

cl_mem API(clCreateImage)(cl_context context, cl_bitfield flags, const cl_image_format *format, const cl_image_desc *desc,
                          void *host, cl_int *error) {
    return make_image(context, NULL, flags, format, desc, host, error, CALLER);
}

cl_mem API(clCreateImageWithProperties)(cl_context context, const cl_properties *properties, cl_bitfield flags,
                                        const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *error) {
    return make_image(context, properties, flags, format, desc, host, error, CALLER);
}

cl_mem API(clCreateImage2D)(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, size_t height,
                            size_t row_pitch, void *host, cl_int *error) {
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    desc.image_row_pitch = row_pitch;
    return make_image(context, NULL, flags, format, &desc, host, error, CALLER);
}

cl_mem API(clCreateImage3D)(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, size_t height,
                            size_t depth, size_t row_pitch, size_t slice_pitch, void *host, cl_int *error) {
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = width, .image_height = height};
    desc.image_depth = depth;
    desc.image_row_pitch = row_pitch;
    desc.image_slice_pitch = slice_pitch;
    return make_image(context, NULL, flags, format, &desc, host, error, CALLER);
}

cl_int API(clGetSupportedImageFormats)(cl_context context, cl_bitfield flags, cl_uint type, cl_uint count,
                                       cl_image_format *formats, cl_uint *found) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    uint32_t kind = kind_of(type);
    if (!kind || (formats && !count)) return CL_INVALID_VALUE;
    const cl_bitfield pointers = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    if (check_flags(flags & ~(pointers | CL_MEM_KERNEL_READ_AND_WRITE), NULL)) return CL_INVALID_VALUE;
    cl_uint matching = 0;
    for (uint32_t i = 0; i < context->link->format_count; i++) {
        uint32_t entry[3];
        memcpy(entry, context->link->formats + 12 * i, sizeof entry);
        if (!(entry[2] >> kind & 1)) continue;
        if (formats && matching < count) formats[matching] = (cl_image_format){entry[0], entry[1]};
        matching++;
    }
    if (found) *found = matching;
    return CL_SUCCESS;
}

cl_int API(clGetImageInfo)(cl_mem image, ANSWER) {
    if (!memory_lives(image) || !is_image(image)) return CL_INVALID_MEM_OBJECT;
    const cl_image_desc *desc = &image->desc;
    cl_uint type = image->type;
    bool has_height = type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
    bool is_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    switch (name) {
    case CL_IMAGE_FORMAT: GIVE(cl_image_format, image->format);
    case CL_IMAGE_ELEMENT_SIZE: GIVE(size_t, image->texel);
    case CL_IMAGE_ROW_PITCH: GIVE(size_t, image->row_pitch);
    case CL_IMAGE_SLICE_PITCH: GIVE(size_t, is_array || type == CL_MEM_OBJECT_IMAGE3D ? image->slice_pitch : 0);
    case CL_IMAGE_WIDTH: GIVE(size_t, desc->image_width);
    case CL_IMAGE_HEIGHT: GIVE(size_t, has_height ? desc->image_height : 0);
    case CL_IMAGE_DEPTH: GIVE(size_t, type == CL_MEM_OBJECT_IMAGE3D ? desc->image_depth : 0);
    case CL_IMAGE_ARRAY_SIZE: GIVE(size_t, is_array ? desc->image_array_size : 0);
    case CL_IMAGE_BUFFER: GIVE(cl_mem, image->parent && !is_image(image->parent) ? image->parent : NULL);
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES: GIVE(cl_uint, 0);
    default: return CL_INVALID_VALUE;
    }
}
