/* The dispatch table, and functions by name. */
#include "functions.h"
#include <string.h>

#define ENTRY(version, type, name, parameters, arguments) .name = API(name),
const struct dispatch adreno_dispatch_table = {FUNCTIONS(ENTRY, NO_SLOT)};

__attribute__((visibility("default"))) cl_int clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *found) {
    return API(clGetPlatformIDs)(count, platforms, found);
}

/* Functions of extensions are found by name; those of OpenCL too, which loaders of old ask for. */
void *API(clGetExtensionFunctionAddress)(const char *name) {
    static const struct {
        const char *name;
        void *function;
    } known[] = {
#define KNOWN(version, type, name, parameters, arguments) {#name, (void *)API(name)},
        FUNCTIONS(KNOWN, NO_SLOT) EXTENSION_FUNCTIONS(KNOWN) {"clIcdGetPlatformIDsKHR", (void *)clIcdGetPlatformIDsKHR},
        {"clCreateCommandQueueWithPropertiesKHR", (void *)API(clCreateCommandQueueWithProperties)},
    };
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].function;
    return NULL;
}

void *API(clGetExtensionFunctionAddressForPlatform)(cl_platform_id platform, const char *name) {
    (void)platform;
    return API(clGetExtensionFunctionAddress)(name);
}
