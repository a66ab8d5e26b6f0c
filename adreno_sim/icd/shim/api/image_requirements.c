/* cl_ext_image_requirements_info: what an image would need, before it is made. */
#include "common.h"

/* The bytes of an image, from the server. */
static cl_int ask_bytes(struct link *link, const cl_image_format *format, const cl_image_desc *desc, uint32_t kind, size_t *bytes) {
    struct memory_body body = {
        .kind = kind, .order = format->image_channel_order, .type = format->image_channel_data_type, .width = desc->image_width,
        .height = desc->image_height, .depth = desc->image_depth, .layers = desc->image_array_size,
        .row_pitch = desc->image_row_pitch, .slice_pitch = desc->image_slice_pitch,
    };
    struct bytes request = {0}, reply;
    put(&request, &body, sizeof body);
    cl_int status = link_request(link, ADRENO_REQUEST_IMAGE_BYTES, &request, &reply);
    struct reader from = {reply.data, reply.data + reply.size, false};
    if (!status) *bytes = get_u64(&from);
    free(reply.data);
    return status;
}

/* The largest extent of a kind of image along x, y, z or layers; 0: it has none. */
static cl_uint largest(const struct link *link, cl_uint type, cl_uint name) {
    bool has_height = type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
    bool is_3d = type == CL_MEM_OBJECT_IMAGE3D;
    cl_uint query = 0;
    switch (name) {
    case CL_IMAGE_REQUIREMENTS_MAX_WIDTH_EXT:
        query = type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? CL_DEVICE_IMAGE_MAX_BUFFER_SIZE
                : is_3d                              ? CL_DEVICE_IMAGE3D_MAX_WIDTH
                                                     : CL_DEVICE_IMAGE2D_MAX_WIDTH;
        break;
    case CL_IMAGE_REQUIREMENTS_MAX_HEIGHT_EXT:
        query = is_3d ? CL_DEVICE_IMAGE3D_MAX_HEIGHT : has_height ? CL_DEVICE_IMAGE2D_MAX_HEIGHT : 0;
        break;
    case CL_IMAGE_REQUIREMENTS_MAX_DEPTH_EXT: query = is_3d ? CL_DEVICE_IMAGE3D_MAX_DEPTH : 0; break;
    default:
        if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY) query = CL_DEVICE_IMAGE_MAX_ARRAY_SIZE;
    }
    return query ? (cl_uint)device_size(link, query, 0) : 0;
}

static size_t power_of_two(size_t least) {
    size_t found = 1;
    while (found < least) found *= 2;
    return found;
}

size_t base_alignment(const struct link *link, cl_uint type, size_t texel) {
    size_t texels = device_number(link, CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT);
    if (!texels || type == CL_MEM_OBJECT_IMAGE1D || type == CL_MEM_OBJECT_IMAGE1D_BUFFER) return 1;
    return texels * power_of_two(texel);
}

cl_int API(clGetImageRequirementsInfoEXT)(cl_context context, const cl_properties *properties, cl_bitfield flags,
                                          const cl_image_format *format, const cl_image_desc *given, ANSWER) {
    if (!object_is(context, CONTEXT)) return CL_INVALID_CONTEXT;
    struct link *link = context->link;
    cl_int wrong = check_no_properties(properties);
    if (wrong || (wrong = check_flags(flags & ~(cl_bitfield)CL_MEM_KERNEL_READ_AND_WRITE))) return wrong;
    cl_image_desc desc = given ? *given : (cl_image_desc){0};
    uint32_t kind;
    wrong = check_image(link, format, given ? &desc : NULL, &kind);
    if (wrong == CL_INVALID_IMAGE_SIZE) return CL_INVALID_IMAGE_DESCRIPTOR;
    if (wrong) return wrong == CL_IMAGE_FORMAT_NOT_SUPPORTED ? CL_INVALID_IMAGE_FORMAT_DESCRIPTOR : wrong;
    size_t texel = format ? power_of_two(texel_bytes(format)) : 16, bytes = 0;
    switch (name) {
    case CL_IMAGE_REQUIREMENTS_ROW_PITCH_ALIGNMENT_EXT:
    case CL_IMAGE_REQUIREMENTS_SLICE_PITCH_ALIGNMENT_EXT:
        GIVE(size_t, texel * device_number(link, CL_DEVICE_IMAGE_PITCH_ALIGNMENT));
    case CL_IMAGE_REQUIREMENTS_BASE_ADDRESS_ALIGNMENT_EXT:
        GIVE(size_t, base_alignment(link, desc.image_type, texel));
    case CL_IMAGE_REQUIREMENTS_SIZE_EXT:
        if (!format || !given) return CL_INVALID_VALUE;
        if ((wrong = ask_bytes(link, format, &desc, kind, &bytes))) return wrong;
        GIVE(size_t, bytes);
    case CL_IMAGE_REQUIREMENTS_MAX_WIDTH_EXT:
    case CL_IMAGE_REQUIREMENTS_MAX_HEIGHT_EXT:
    case CL_IMAGE_REQUIREMENTS_MAX_DEPTH_EXT:
    case CL_IMAGE_REQUIREMENTS_MAX_ARRAY_SIZE_EXT: {
        if (!given) return CL_INVALID_VALUE;
        cl_uint most = largest(link, desc.image_type, name);
        if (!most) return CL_INVALID_IMAGE_DESCRIPTOR;
        GIVE(cl_uint, most);
    }
    default: return CL_INVALID_VALUE;
    }
}
