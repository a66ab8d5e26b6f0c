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

/* An extent of an image, and the query of the device that limits it. */
struct extent {
    const char *field;
    size_t value;
    cl_uint query;
    const char *limit;
};

static cl_int check_extent(const struct link *link, struct extent extent) {
    size_t most = device_size(link, extent.query, 0);
    if (!extent.value)
        return refuse_call(CL_INVALID_IMAGE_SIZE, NULL, "%s is 0: expected 1 to %zu, the device's %s", extent.field, most, extent.limit);
    if (extent.value <= most) return CL_SUCCESS;
    return refuse_call(CL_INVALID_IMAGE_SIZE, NULL, "%s is %zu: the device has at most %zu (%s); divide the image, or use a buffer",
                       extent.field, extent.value, most, extent.limit);
}

#define EXTENT(name, limit) \
    { #name, desc->name, CL_DEVICE_##limit, "CL_DEVICE_" #limit }

/* Sets the fields that the type of image does not use, and checks the others. */
static cl_int settle_size(const struct link *link, cl_image_desc *desc) {
    cl_uint type = desc->image_type;
    bool is_3d = type == CL_MEM_OBJECT_IMAGE3D, is_over_texels = type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
    bool has_height = type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || is_3d;
    bool is_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    if (!has_height) desc->image_height = 1;
    if (!is_3d) desc->image_depth = 1;
    if (!is_array) desc->image_array_size = 1;
    struct extent width = EXTENT(image_width, IMAGE2D_MAX_WIDTH), height = EXTENT(image_height, IMAGE2D_MAX_HEIGHT);
    if (is_3d) width = (struct extent)EXTENT(image_width, IMAGE3D_MAX_WIDTH);
    if (is_3d) height = (struct extent)EXTENT(image_height, IMAGE3D_MAX_HEIGHT);
    if (is_over_texels) width = (struct extent)EXTENT(image_width, IMAGE_MAX_BUFFER_SIZE);
    cl_int wrong = check_extent(link, width);
    if (!wrong && has_height) wrong = check_extent(link, height);
    if (!wrong && is_3d) wrong = check_extent(link, (struct extent)EXTENT(image_depth, IMAGE3D_MAX_DEPTH));
    if (!wrong && is_array) wrong = check_extent(link, (struct extent)EXTENT(image_array_size, IMAGE_MAX_ARRAY_SIZE));
    return wrong;
}

/* Checks the type of a descriptor, and the fields that must be 0. Gives the kind of image. */
static cl_int check_descriptor(const cl_image_desc *desc, uint32_t *kind) {
    const cl_int wrong = CL_INVALID_IMAGE_DESCRIPTOR;
    *kind = desc ? kind_of(desc->image_type) : 0;
    if (!desc) return refuse_call(wrong, NULL, "the descriptor of the image is NULL: pass a cl_image_desc");
    if (!*kind)
        return refuse_call(wrong, NULL, "image_type 0x%x: expected CL_MEM_OBJECT_IMAGE1D, IMAGE1D_BUFFER, IMAGE1D_ARRAY, IMAGE2D, "
                                        "IMAGE2D_ARRAY or IMAGE3D", desc->image_type);
    if (desc->num_mip_levels)
        return refuse_call(wrong, NULL, "num_mip_levels is %u: expected 0, as the device has no mipmaps (cl_khr_mipmap_image)",
                           desc->num_mip_levels);
    if (desc->num_samples)
        return refuse_call(wrong, NULL, "num_samples is %u: OpenCL expects 0; set all fields that are not used to 0", desc->num_samples);
    return CL_SUCCESS;
}

cl_int check_image(const struct link *link, const cl_image_format *format, cl_image_desc *desc, uint32_t *kind) {
    cl_int wrong = format ? check_format(format) : CL_SUCCESS;
    *kind = 0;
    if (wrong || !desc) return wrong;
    if ((wrong = check_descriptor(desc, kind)) || (wrong = settle_size(link, desc))) return wrong;
    return format ? check_support(link, format, *kind) : CL_SUCCESS;
}

/* Checks the pitches of the host's memory, or of a buffer under the new image. wrong: the code of a bad one. */
static cl_int check_pitches(const cl_image_desc *desc, const void *host, size_t texel, cl_int wrong) {
    size_t row = desc->image_row_pitch, slice = desc->image_slice_pitch, least = desc->image_width * texel;
    bool has_slices = desc->image_type == CL_MEM_OBJECT_IMAGE3D || desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                      desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (!host && !desc->mem_object && (row || slice))
        return refuse_call(wrong, NULL, "image_%s_pitch is %zu: OpenCL expects 0 where no memory of the host or of a buffer is given",
                           row ? "row" : "slice", row ? row : slice);
    if (row && (row < least || row % texel))
        return refuse_call(wrong, NULL, "image_row_pitch is %zu: OpenCL expects 0, or a multiple of the texel's %zu bytes that is at "
                                        "least the row's %zu", row, texel, least);
    if (!slice || !has_slices) return CL_SUCCESS;
    if (!row) row = least;
    size_t used = row * (desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 1 : desc->image_height);
    if (slice >= used && slice % row == 0) return CL_SUCCESS;
    return refuse_call(wrong, NULL, "image_slice_pitch is %zu: OpenCL expects 0, or a multiple of the row pitch, %zu, that is at least "
                                    "the slice's %zu", slice, row, used);
}

static bool shows_same_bytes(cl_uint order, cl_uint other) {
    static const cl_uint pairs[][2] = {
        {CL_sBGRA, CL_BGRA}, {CL_sRGBA, CL_RGBA}, {CL_sRGB, CL_RGB}, {CL_sRGBx, CL_RGBx}, {CL_DEPTH, CL_R},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (order == pairs[i][0] && other == pairs[i][1]) return true;
        if (order == pairs[i][1] && other == pairs[i][0] && order != CL_R) return true;
    }
    return false;
}

/* An image that shows the texels of another one in another order of channels. */
static cl_int check_image_under(const struct memory *parent, const cl_image_desc *desc, const cl_image_format *format) {
    const cl_int wrong = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    if (desc->image_type != CL_MEM_OBJECT_IMAGE2D || parent->type != CL_MEM_OBJECT_IMAGE2D)
        return refuse_call(CL_INVALID_IMAGE_DESCRIPTOR, NULL, "mem_object is an image: OpenCL expects CL_MEM_OBJECT_IMAGE2D for both; "
                                                              "pass a buffer, or NULL");
    if (parent->desc.image_width != desc->image_width || parent->desc.image_height != desc->image_height)
        return refuse_call(wrong, NULL, "an image of %zu x %zu over one of %zu x %zu (mem_object): OpenCL expects the same size",
                           desc->image_width, desc->image_height, parent->desc.image_width, parent->desc.image_height);
    if (parent->format.image_channel_data_type != format->image_channel_data_type)
        return refuse_call(wrong, NULL, "channel data type 0x%x over an image of type 0x%x (mem_object): OpenCL expects the same",
                           format->image_channel_data_type, parent->format.image_channel_data_type);
    if (shows_same_bytes(format->image_channel_order, parent->format.image_channel_order)) return CL_SUCCESS;
    return refuse_call(wrong, NULL, "channel order 0x%x over an image of order 0x%x (mem_object): OpenCL expects the same order with or "
                                    "without sRGB, or CL_DEPTH over CL_R", format->image_channel_order, parent->format.image_channel_order);
}

static cl_int check_parent(const struct context *context, const cl_image_desc *desc, const cl_image_format *format) {
    const struct memory *parent = desc->mem_object;
    const cl_int wrong = CL_INVALID_IMAGE_DESCRIPTOR;
    cl_uint type = desc->image_type;
    if (!parent && type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
        return refuse_call(wrong, NULL, "mem_object is NULL: a CL_MEM_OBJECT_IMAGE1D_BUFFER needs the buffer that holds its texels");
    if (!parent) return CL_SUCCESS;
    if (!memory_lives(parent)) return refuse_call(wrong, NULL, "mem_object is neither NULL nor a memory object that lives");
    if (parent->context != context) return refuse_call(wrong, NULL, "mem_object is of another context");
    if (is_image(parent)) return check_image_under(parent, desc, format);
    /* A device would use the host's memory itself. Which kinds of images may be over buffers, the server knows. */
    size_t aligned = base_alignment(context->link, type, texel_bytes(format));
    if ((uintptr_t)parent->host % aligned == 0) return CL_SUCCESS;
    return refuse_call(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, NULL,
                       "the host's memory of the buffer under it is %zu bytes behind a multiple of %zu: the device expects a multiple "
                       "(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT texels); align it, or copy", (uintptr_t)parent->host % aligned, aligned);
}

/* bad_pitch: the code of a pitch that is wrong. */
static cl_mem make_image(cl_context context, const cl_properties *properties, cl_bitfield flags, const cl_image_format *format,
                         const cl_image_desc *given, void *host, cl_int *error, cl_int bad_pitch, void *made_at) {
    if (!object_is(context, CONTEXT)) return fail(error, CL_INVALID_CONTEXT);
    cl_int wrong = check_no_properties(properties);
    if (wrong) return fail(error, wrong);
    struct link *link = context->link;
    uint32_t kind;
    if (link_lost(link)) return fail(error, CL_DEVICE_NOT_AVAILABLE);
    if ((wrong = check_flags(flags)) || (wrong = check_format(format)) || (wrong = check_descriptor(given, &kind)))
        return fail(error, wrong);
    if (!device_number(link, CL_DEVICE_IMAGE_SUPPORT)) return fail(error, CL_INVALID_OPERATION);
    cl_image_desc desc = *given;
    size_t texel = texel_bytes(format);
    if ((wrong = settle_size(link, &desc)) || (wrong = check_parent(context, &desc, format))) return fail(error, wrong);
    if (desc.mem_object && (wrong = inherit_flags(desc.mem_object, &flags))) return fail(error, wrong);
    if (desc.mem_object) bad_pitch = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    if ((wrong = check_pitches(&desc, host, texel, bad_pitch))) return fail(error, wrong);
    if ((wrong = check_host_pointer(desc.mem_object ? 0 : flags, host))) return fail(error, wrong);
    if ((wrong = check_support(link, format, kind))) return fail(error, wrong);
    struct memory *made = new_memory(context, flags, given->image_type, made_at);
    if (!made) return fail(error, CL_OUT_OF_HOST_MEMORY);
    made->kind = kind;
    made->format = *format;
    made->desc = desc;
    made->texel = texel;
    long count = copy_list(properties, &made->list);
    made->list_count = count > 0 ? (size_t)count : 0;
    if (desc.mem_object) adopt(made, desc.mem_object);
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
    return make_image(context, NULL, flags, format, desc, host, error, CL_INVALID_IMAGE_DESCRIPTOR, CALLER);
}

cl_mem API(clCreateImageWithProperties)(cl_context context, const cl_properties *properties, cl_bitfield flags,
                                        const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *error) {
    return make_image(context, properties, flags, format, desc, host, error, CL_INVALID_IMAGE_DESCRIPTOR, CALLER);
}

cl_mem API(clCreateImage2D)(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, size_t height,
                            size_t row_pitch, void *host, cl_int *error) {
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    desc.image_row_pitch = row_pitch;
    return make_image(context, NULL, flags, format, &desc, host, error, CL_INVALID_IMAGE_SIZE, CALLER);
}

cl_mem API(clCreateImage3D)(cl_context context, cl_bitfield flags, const cl_image_format *format, size_t width, size_t height,
                            size_t depth, size_t row_pitch, size_t slice_pitch, void *host, cl_int *error) {
    if (depth == 1 && object_is(context, CONTEXT))
        return fail(error, refuse_call(CL_INVALID_IMAGE_SIZE, NULL, "image_depth is 1: this function expects 2 or more; use clCreateImage"));
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = width, .image_height = height};
    desc.image_depth = depth;
    desc.image_row_pitch = row_pitch;
    desc.image_slice_pitch = slice_pitch;
    return make_image(context, NULL, flags, format, &desc, host, error, CL_INVALID_IMAGE_SIZE, CALLER);
}

cl_int API(clGetSupportedImageFormats)(cl_context context, cl_bitfield flags, cl_uint type, cl_uint count,
                                       cl_image_format *formats, cl_uint *found) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    uint32_t kind = kind_of(type);
    if (!kind) return refuse_call(CL_INVALID_VALUE, NULL, "image_type 0x%x: expected one of CL_MEM_OBJECT_IMAGE...", type);
    if (formats && !count) return refuse_call(CL_INVALID_VALUE, NULL, "num_entries is 0, and image_formats is not NULL");
    const cl_bitfield pointers = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    cl_int wrong = check_flags(flags & ~(pointers | CL_MEM_KERNEL_READ_AND_WRITE));
    if (wrong) return wrong;
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
