/* Image formats: which OpenCL knows, which the device has, and what is said of the others. */
#include "common.h"

static const char *const orders[] = {
    "CL_R", "CL_A", "CL_RG", "CL_RA", "CL_RGB", "CL_RGBA", "CL_BGRA", "CL_ARGB", "CL_INTENSITY", "CL_LUMINANCE", "CL_Rx", "CL_RGx",
    "CL_RGBx", "CL_DEPTH", "CL_DEPTH_STENCIL", "CL_sRGB", "CL_sRGBx", "CL_sRGBA", "CL_sBGRA", "CL_ABGR",
};
static const char *const types[] = {
    "CL_SNORM_INT8", "CL_SNORM_INT16", "CL_UNORM_INT8", "CL_UNORM_INT16", "CL_UNORM_SHORT_565", "CL_UNORM_SHORT_555",
    "CL_UNORM_INT_101010", "CL_SIGNED_INT8", "CL_SIGNED_INT16", "CL_SIGNED_INT32", "CL_UNSIGNED_INT8", "CL_UNSIGNED_INT16",
    "CL_UNSIGNED_INT32", "CL_HALF_FLOAT", "CL_FLOAT", "CL_UNORM_INT24", "CL_UNORM_INT_101010_2",
};

static const char *order_name(cl_uint order) {
    return order - CL_R < sizeof orders / sizeof *orders ? orders[order - CL_R] : NULL;
}

static const char *type_name(cl_uint type) {
    return type - CL_SNORM_INT8 < sizeof types / sizeof *types ? types[type - CL_SNORM_INT8] : NULL;
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

cl_int check_format(const cl_image_format *format) {
    const cl_int wrong = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    if (!format) return refuse_call(wrong, NULL, "the image format is NULL: pass a cl_image_format");
    cl_uint order = format->image_channel_order, type = format->image_channel_data_type;
    if (!order_name(order))
        return refuse_call(wrong, NULL, "channel order 0x%x: expected one of OpenCL's, CL_R (0x10B0) to CL_ABGR (0x10C3)", order);
    if (!type_name(type))
        return refuse_call(wrong, NULL, "channel data type 0x%x: expected one of OpenCL's, CL_SNORM_INT8 (0x10D0) to "
                                        "CL_UNORM_INT_101010_2 (0x10E0)", type);
    if (texel_bytes(format)) return CL_SUCCESS;
    return refuse_call(wrong, NULL, "%s with %s: this type is of images of OpenGL, which the device does not share", order_name(order),
                       type_name(type));
}

/* What OpenCL expects of a format that no device has; NULL: nothing. */
static const char *contradiction(cl_uint order, cl_uint type) {
    bool is_packed = type == CL_UNORM_SHORT_565 || type == CL_UNORM_SHORT_555 || type == CL_UNORM_INT_101010;
    if (type == CL_UNORM_INT_101010_2 && order != CL_RGBA) return "OpenCL combines this type with CL_RGBA alone";
    if (is_packed && order != CL_RGB && order != CL_RGBx) return "OpenCL combines this type with CL_RGB and CL_RGBx alone";
    if (order == CL_RGB && !is_packed) return "OpenCL combines CL_RGB with packed types alone; use CL_RGBA";
    return NULL;
}

cl_int check_support(const struct link *link, const cl_image_format *format, uint32_t kind) {
    cl_uint others = 0, order = format->image_channel_order, type = format->image_channel_data_type;
    for (uint32_t i = 0; i < link->format_count; i++) {
        uint32_t found[3];
        memcpy(found, link->formats + 12 * i, sizeof found);
        bool of_kind = found[2] >> kind & 1;
        if (of_kind && found[0] == order && found[1] == type) return CL_SUCCESS;
        others += of_kind;
    }
    const char *expected = contradiction(order, type);
    if (expected)
        return refuse_call(CL_IMAGE_FORMAT_NOT_SUPPORTED, NULL, "%s with %s: %s", order_name(order), type_name(type), expected);
    return refuse_call(CL_IMAGE_FORMAT_NOT_SUPPORTED, NULL, "%s with %s: the device does not have it for this type of image; "
                                                            "clGetSupportedImageFormats lists the %u that it has",
                       order_name(order), type_name(type), others);
}
