/* What a loader looks for in a driver, besides clIcdGetPlatformIDsKHR. */
#include "functions.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *clGetExtensionFunctionAddress(const char *name) { return API(clGetExtensionFunctionAddress)(name); }
EXPORTED cl_int clGetPlatformInfo(cl_platform_id platform, ANSWER) { return API(clGetPlatformInfo)(platform, ANSWERED); }
