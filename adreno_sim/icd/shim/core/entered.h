/* The function of OpenCL that the host's program has called and that runs in this thread. */
#pragma once

#include "../opencl.h"
#include <stdbool.h>

struct entered {
    const char *function; /* NULL: none, as in a thread of the shim's own */
    void *caller;         /* the address to which it returns */
    uint32_t call;        /* the number that it got; 0: none so far */
    uint32_t place;       /* of the host's program, as places.c numbers them; 0: nobody asked */
    cl_int error;         /* what it gives through a pointer */
    bool told;            /* a finding says already what is wrong with it */
    bool waited;          /* its error is that of a command for which it waited */
};

extern _Thread_local struct entered entered;

/* Where the host's program called from. */
#define CALLER entered.caller

/* Begins a call; returns what ran in this thread before, which is nothing but in a callback. */
struct entered begin_call(const char *function, void *caller);
/* Ends it. status: what it returns, CL_SUCCESS where it returns an object. handle: the object that it was given first, or any
   other value. A call that is refused is reported to the server, and to its context if that has a notice. */
void end_call(const struct entered *before, cl_int status, const void *handle);

/* The function that was called is of this version of OpenCL, 21 for 2.1, or of this extension: reported if the device does not have it. */
void check_version(int version);
void check_extension(const char *extension);

/* Says why the call is refused, in words that end its sentence, for a call about a kernel with its name. Returns `code`. */
__attribute__((format(printf, 3, 4))) cl_int refuse_call(cl_int code, const char *kernel, const char *format, ...);
/* "CL_INVALID_VALUE" */
const char *error_name(cl_int code);
