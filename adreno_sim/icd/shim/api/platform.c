/* The one platform and its one device, which are there as long as the library is. */
#include "common.h"

#define ALWAYS(kind_) {.dispatch = &adreno_dispatch_table, .magic = MAGIC + kind_, .users = 1, .holds = 1}

struct platform the_platform = {ALWAYS(PLATFORM)};
struct device the_device = {ALWAYS(DEVICE)};

uint64_t device_number(const struct link *link, cl_uint query) {
    uint32_t size = 0;
    uint64_t number = 0;
    const void *found = link_answer(link->device_answers, link->device_count, query, &size);
    if (found) memcpy(&number, found, size < sizeof number ? size : sizeof number);
    return number;
}

size_t device_size(const struct link *link, cl_uint query, unsigned place) {
    uint32_t bytes = 0;
    size_t number = 0;
    const uint8_t *found = link_answer(link->device_answers, link->device_count, query, &bytes);
    if (found && bytes >= (place + 1) * sizeof number) memcpy(&number, found + place * sizeof number, sizeof number);
    return number;
}

cl_int API(clGetPlatformIDs)(cl_uint count, cl_platform_id *platforms, cl_uint *found) {
    if ((platforms && !count) || (!platforms && !found)) return CL_INVALID_VALUE;
    struct link *link = link_open();
    if (found) *found = link ? 1 : 0;
    if (!link) return CL_PLATFORM_NOT_FOUND_KHR;
    if (platforms) platforms[0] = &the_platform;
    return CL_SUCCESS;
}

cl_int API(clGetPlatformInfo)(cl_platform_id platform, ANSWER) {
    if (platform && platform != &the_platform) return CL_INVALID_PLATFORM;
    struct link *link = link_open();
    uint32_t bytes;
    if (!link) return CL_INVALID_PLATFORM;
    const void *found = link_answer(link->platform_answers, link->platform_count, name, &bytes);
    if (!found && name == CL_PLATFORM_ICD_SUFFIX_KHR) GIVE_TEXT("QCOM");
    return found ? give(size, value, size_ret, found, bytes) : CL_INVALID_VALUE;
}

cl_int API(clGetDeviceIDs)(cl_platform_id platform, cl_bitfield type, cl_uint count, cl_device_id *devices, cl_uint *found) {
    if (platform && platform != &the_platform) return CL_INVALID_PLATFORM;
    if (!type || (type != CL_DEVICE_TYPE_ALL && type & ~(cl_bitfield)CL_DEVICE_TYPE_KNOWN)) return CL_INVALID_DEVICE_TYPE;
    if ((devices && !count) || (!devices && !found)) return CL_INVALID_VALUE;
    if (!link_open()) return CL_DEVICE_NOT_FOUND;
    bool matches = type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT);
    if (found) *found = matches;
    if (!matches) return CL_DEVICE_NOT_FOUND;
    if (devices) devices[0] = &the_device;
    return CL_SUCCESS;
}

cl_int API(clGetDeviceInfo)(cl_device_id device, ANSWER) {
    if (device != &the_device) return CL_INVALID_DEVICE;
    struct link *link = link_current();
    if (!link) return CL_DEVICE_NOT_AVAILABLE; /* a child of fork that has not asked for platforms */
    switch (name) {
    case CL_DEVICE_PLATFORM: GIVE(cl_platform_id, &the_platform);
    case CL_DEVICE_PARENT_DEVICE: GIVE(cl_device_id, NULL);
    case CL_DEVICE_REFERENCE_COUNT: GIVE(cl_uint, 1);
    case CL_DEVICE_AVAILABLE: GIVE(cl_bool, link_check(link));
    case CL_DEVICE_SVM_CAPABILITIES: GIVE(cl_bitfield, shared_capabilities(link));
    default: break;
    }
    uint32_t bytes;
    const void *found = link_answer(link->device_answers, link->device_count, name, &bytes);
    return found ? give(size, value, size_ret, found, bytes) : CL_INVALID_VALUE;
}

cl_int API(clRetainDevice)(cl_device_id device) { return device == &the_device ? CL_SUCCESS : CL_INVALID_DEVICE; }
cl_int API(clReleaseDevice)(cl_device_id device) { return device == &the_device ? CL_SUCCESS : CL_INVALID_DEVICE; }

cl_int API(clCreateSubDevices)(cl_device_id device, const cl_words *properties, cl_uint count, cl_device_id *devices,
                               cl_uint *found) {
    (void)count, (void)devices, (void)found;
    if (device != &the_device) return CL_INVALID_DEVICE;
    const char *none = "the device has no kind of partition (CL_DEVICE_PARTITION_PROPERTIES); use the whole device";
    if (!properties || !properties[0]) return refuse_call(CL_INVALID_VALUE, NULL, "no kind of partition is given, and %s", none);
    const char *name = properties[0] == CL_DEVICE_PARTITION_EQUALLY              ? "CL_DEVICE_PARTITION_EQUALLY"
                       : properties[0] == CL_DEVICE_PARTITION_BY_COUNTS          ? "CL_DEVICE_PARTITION_BY_COUNTS"
                       : properties[0] == CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN ? "CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN"
                                                                                 : NULL;
    if (name) return refuse_call(CL_INVALID_VALUE, NULL, "%s: %s", name, none);
    return refuse_call(CL_INVALID_VALUE, NULL, "partition 0x%llx is none of OpenCL's, and %s", (unsigned long long)properties[0], none);
}

cl_int API(clUnloadPlatformCompiler)(cl_platform_id platform) {
    return platform == &the_platform ? CL_SUCCESS : CL_INVALID_PLATFORM;
}
cl_int API(clUnloadCompiler)(void) { return CL_SUCCESS; }

cl_int API(clGetDeviceAndHostTimer)(cl_device_id device, cl_ulong *device_time, cl_ulong *host_time) {
    if (device != &the_device) return CL_INVALID_DEVICE;
    if (!device_time || !host_time) return CL_INVALID_VALUE;
    *device_time = *host_time = now_ns();
    return CL_SUCCESS;
}

cl_int API(clGetHostTimer)(cl_device_id device, cl_ulong *host_time) {
    if (device != &the_device) return CL_INVALID_DEVICE;
    if (!host_time) return CL_INVALID_VALUE;
    *host_time = now_ns();
    return CL_SUCCESS;
}
