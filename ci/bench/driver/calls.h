/* OpenCL's functions, and a call that ends the program where it fails. */
#include "functions.h"
#include <stdio.h>
#include <stdlib.h>

#define PROTOTYPE(version, type, name, parameters, arguments) type name parameters;
#define PROTOTYPE_VOID(version, name, parameters, arguments) void name parameters;
FUNCTIONS(PROTOTYPE, PROTOTYPE_VOID, NO_SLOT)

#define OK(call) \
    do { \
        cl_int error_ = (call); \
        if (error_) fprintf(stderr, "%s: %d\n", #call, error_), exit(1); \
    } while (0)
