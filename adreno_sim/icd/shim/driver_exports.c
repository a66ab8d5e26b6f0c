/* What a loader looks for in a driver, besides clIcdGetPlatformIDsKHR. */
#include "functions.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *clGetExtensionFunctionAddress(const char *name) { return adreno_dispatch_table.clGetExtensionFunctionAddress(name); }
EXPORTED cl_int clGetPlatformInfo(cl_platform_id platform, ANSWER) { return adreno_dispatch_table.clGetPlatformInfo(platform, ANSWERED); }
