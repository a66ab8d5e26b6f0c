/* Where calls of the host's program come in: the dispatch table, and functions by name. */
#include "core/call_log.h"
#include "core/schedule.h"
#include <string.h>

/* The first argument where it is an object, else NULL. */
#define FIRST_OF(first, ...) first
#define FIRST(...) FIRST_OF(__VA_ARGS__ __VA_OPT__(, ) 0)
#define OBJECT(value) \
    _Generic((value), cl_context: (const void *)(uintptr_t)(value), cl_command_queue: (const void *)(uintptr_t)(value), \
        cl_kernel: (const void *)(uintptr_t)(value), cl_program: (const void *)(uintptr_t)(value), \
        cl_mem: (const void *)(uintptr_t)(value), default: NULL)
#define HANDLE(...) OBJECT(FIRST(__VA_ARGS__))

/* OpenCL's functions return an error or an object. */
#define IS_STATUS(type) __builtin_types_compatible_p(type, cl_int)
#define LOG(begun, arguments, gives, error) \
    if (begun) { \
        const struct value values[] = {VALUES arguments}; \
        log_call(#arguments, values, sizeof values / sizeof *values, gives, error, begun); \
    }
/* Whether the device has a function: of this version, or of an extension of this name. */
#define CHECK_DEVICE(from) _Generic((from), int: check_version, char *: check_extension)(from)
#define ENTRANCE(name) enter_##name
#define ENTER(version, type, name, parameters, arguments) \
    static type ENTRANCE(name) parameters { \
        struct entered surrounding = begin_call(#name, __builtin_return_address(0)); \
        CHECK_DEVICE(version); \
        uint64_t begun = logs_calls() ? now_ns() : 0; \
        type outcome = API(name) arguments; \
        LOG(begun, arguments, &VALUE(outcome), IS_STATUS(type) ? (cl_int)(intptr_t)outcome : entered.error) \
        end_call(&surrounding, IS_STATUS(type) ? (cl_int)(intptr_t)outcome : CL_SUCCESS, HANDLE arguments); \
        return outcome; \
    }
#define ENTER_VOID(version, name, parameters, arguments) \
    static void ENTRANCE(name) parameters { \
        struct entered surrounding = begin_call(#name, __builtin_return_address(0)); \
        CHECK_DEVICE(version); \
        uint64_t begun = logs_calls() ? now_ns() : 0; \
        API(name) arguments; \
        LOG(begun, arguments, NULL, CL_SUCCESS) \
        end_call(&surrounding, CL_SUCCESS, NULL); \
    }
FUNCTIONS(ENTER, ENTER_VOID, NO_SLOT)
EXTENSION_FUNCTIONS(ENTER)

#define ENTRY(version, type, name, parameters, arguments) .name = ENTRANCE(name),
#define VOID_ENTRY(version, name, parameters, arguments) .name = ENTRANCE(name),
const struct dispatch adreno_dispatch_table = {FUNCTIONS(ENTRY, VOID_ENTRY, NO_SLOT)};

__attribute__((visibility("default"))) cl_int clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *found) {
    return ENTRANCE(clGetPlatformIDs)(count, platforms, found);
}

/* Functions of extensions are found by name; those of OpenCL too, which loaders of old ask for. */
void *API(clGetExtensionFunctionAddress)(const char *name) {
    static const struct {
        const char *name;
        void *function;
    } known[] = {
#define KNOWN(version, type, name, parameters, arguments) {#name, (void *)ENTRANCE(name)},
#define KNOWN_VOID(version, name, parameters, arguments) {#name, (void *)ENTRANCE(name)},
        FUNCTIONS(KNOWN, KNOWN_VOID, NO_SLOT) EXTENSION_FUNCTIONS(KNOWN)
        {"clIcdGetPlatformIDsKHR", (void *)clIcdGetPlatformIDsKHR},
        {"clCreateCommandQueueWithPropertiesKHR", (void *)ENTRANCE(clCreateCommandQueueWithProperties)},
    };
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].function;
    return NULL;
}

void *API(clGetExtensionFunctionAddressForPlatform)(cl_platform_id platform, const char *name) {
    (void)platform;
    return API(clGetExtensionFunctionAddress)(name);
}
