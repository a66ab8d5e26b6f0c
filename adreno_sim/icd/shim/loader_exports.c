/* All of OpenCL under its own names: the library for machines without a loader. */
#include "functions.h"

#define EXPORT(version, type, name, parameters, arguments) \
    __attribute__((visibility("default"))) type name parameters { return API(name) arguments; }
FUNCTIONS(EXPORT, NO_SLOT)
