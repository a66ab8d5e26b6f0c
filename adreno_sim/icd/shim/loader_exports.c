/* All of OpenCL under its own names: the library for machines without a loader. A process may have this one and a loader besides,
   so that it holds nothing itself: both lead to the one driver. */
#include "functions.h"

#define EXPORT(version, type, name, parameters, arguments) \
    __attribute__((visibility("default"))) type name parameters { return adreno_dispatch_table.name arguments; }
#define EXPORT_VOID(version, name, parameters, arguments) \
    __attribute__((visibility("default"))) void name parameters { adreno_dispatch_table.name arguments; }
FUNCTIONS(EXPORT, EXPORT_VOID, NO_SLOT)
