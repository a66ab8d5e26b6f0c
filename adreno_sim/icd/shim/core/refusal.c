/* Calls that are refused: reported as findings, whatever the host's program makes of their error. */
#define _GNU_SOURCE
#include "entered.h"
#include "misuse.h"
#include "schedule.h"
#include <stdarg.h>
#include <stdio.h>

#define MOST_TOLD 10000 /* of a process: who goes on for so long does not look at errors */

_Thread_local struct entered entered;
static _Thread_local char why[256], kernel_name[128];
static _Atomic uint32_t told_count;

struct entered begin_call(const char *function, void *caller) {
    struct entered before = entered;
    entered = (struct entered){.function = function, .caller = caller};
    why[0] = kernel_name[0] = 0;
    return before;
}

cl_int refuse_call(cl_int code, const char *kernel, const char *format, ...) {
    va_list given;
    va_start(given, format);
    vsnprintf(why, sizeof why, format, given);
    va_end(given);
    snprintf(kernel_name, sizeof kernel_name, "%s", kernel ? kernel : "");
    return code;
}

const char *error_name(cl_int code) {
    switch (code) {
#define NAME(number, name) \
    case number: return name;
        ADRENO_ERROR_NAMES(NAME)
    default: return "an unknown error";
    }
}

/* Whether an error says something of the call itself: not where the link is lost, or a command before it has failed. */
static bool is_own_fault(cl_int code) {
    return code != CL_DEVICE_NOT_AVAILABLE && code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
           code != CL_PLATFORM_NOT_FOUND_KHR;
}

static void tell(struct link *link, cl_int code) {
    struct bytes body = {0};
    put_u32(&body, entered.call);
    put_u32(&body, thread_number());
    put_u32(&body, (uint32_t)code);
    put_text(&body, entered.function);
    put_text(&body, kernel_name);
    put_text(&body, why);
    link_request(link, ADRENO_REQUEST_REFUSED, &body, NULL);
}

void end_call(const struct entered *before, cl_int status, const void *handle) {
    cl_int code = status ? status : entered.error;
    struct link *link = code && !entered.waited ? link_current() : NULL;
    if (link && is_own_fault(code) && !link_lost(link)) {
        if (!entered.call) entered.call = count_call();
        struct context *context = strncmp(entered.function, "clGet", 5) ? context_of(handle) : NULL;
        if (context) tell_refusal(context, code, why);
        if (!entered.told && atomic_fetch_add(&told_count, 1) < MOST_TOLD) tell(link, code);
    }
    entered = *before;
}

void check_version(int version) {
    struct link *link = version > 10 ? link_current() : NULL;
    if (!link || 10u * version <= link->version) return;
    note_misuse((struct misuse){.what = ADRENO_MISUSE_NEWER_THAN_DEVICE},
                "%s is a function of OpenCL %d.%d, and the device has OpenCL %u.%u: its driver has no such function", entered.function,
                version / 10, version % 10, link->version / 100, link->version / 10 % 10);
    tell_misuses();
}

void check_extension(const char *extension) {
    struct link *link = link_current();
    uint32_t size = 0;
    const char *listed = link ? link_answer(link->device_answers, link->device_count, CL_DEVICE_EXTENSIONS, &size) : NULL;
    if (!listed || memmem(listed, size, extension, strlen(extension))) return;
    note_misuse((struct misuse){.what = ADRENO_MISUSE_EXTENSION_NOT_LISTED},
                "%s is a function of %s, which the device does not list", entered.function, extension);
    tell_misuses();
}
