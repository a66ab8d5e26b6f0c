/* A line of text for each call of the host's program: function, arguments by name, what it gives, how long it takes. It goes to the
   file that ADRENO_SIM_ICD_LOG names, and with ADRENO_SIM_ICD_TRACE to standard error. */
#pragma once

#include "../opencl.h"
#include <stdbool.h>

enum value_kind { VALUE_SIGNED, VALUE_UNSIGNED, VALUE_POINTER, VALUE_TEXT, VALUE_SIZES };

/* An argument, or what a call gives. VALUE_SIZES: an array of size_t; the names of arguments say how many. */
struct value {
    enum value_kind kind;
    int64_t bits;
};

#define VALUE_KIND(given) \
    _Generic((given), int: VALUE_SIGNED, long: VALUE_SIGNED, long long: VALUE_SIGNED, unsigned: VALUE_UNSIGNED, \
        unsigned long: VALUE_UNSIGNED, unsigned long long: VALUE_UNSIGNED, const char *: VALUE_TEXT, \
        const size_t *: VALUE_SIZES, default: VALUE_POINTER)
#define VALUE(given) ((struct value){VALUE_KIND(given), (int64_t)(uintptr_t)(given)})

/* VALUE of each of up to 16 arguments. */
#define VALUES_1(a) VALUE(a)
#define VALUES_2(a, ...) VALUE(a), VALUES_1(__VA_ARGS__)
#define VALUES_3(a, ...) VALUE(a), VALUES_2(__VA_ARGS__)
#define VALUES_4(a, ...) VALUE(a), VALUES_3(__VA_ARGS__)
#define VALUES_5(a, ...) VALUE(a), VALUES_4(__VA_ARGS__)
#define VALUES_6(a, ...) VALUE(a), VALUES_5(__VA_ARGS__)
#define VALUES_7(a, ...) VALUE(a), VALUES_6(__VA_ARGS__)
#define VALUES_8(a, ...) VALUE(a), VALUES_7(__VA_ARGS__)
#define VALUES_9(a, ...) VALUE(a), VALUES_8(__VA_ARGS__)
#define VALUES_10(a, ...) VALUE(a), VALUES_9(__VA_ARGS__)
#define VALUES_11(a, ...) VALUE(a), VALUES_10(__VA_ARGS__)
#define VALUES_12(a, ...) VALUE(a), VALUES_11(__VA_ARGS__)
#define VALUES_13(a, ...) VALUE(a), VALUES_12(__VA_ARGS__)
#define VALUES_14(a, ...) VALUE(a), VALUES_13(__VA_ARGS__)
#define VALUES_15(a, ...) VALUE(a), VALUES_14(__VA_ARGS__)
#define VALUES_16(a, ...) VALUE(a), VALUES_15(__VA_ARGS__)
#define COUNTED(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, made, ...) made
#define VALUES_OF(...) \
    COUNTED(__VA_ARGS__, VALUES_16, VALUES_15, VALUES_14, VALUES_13, VALUES_12, VALUES_11, VALUES_10, VALUES_9, VALUES_8, VALUES_7, \
            VALUES_6, VALUES_5, VALUES_4, VALUES_3, VALUES_2, VALUES_1, )(__VA_ARGS__)
#define VALUES(...) __VA_OPT__(VALUES_OF(__VA_ARGS__))

/* Whether calls are written down. */
bool logs_calls(void);
/* The call that runs in this thread ends. names: of its arguments as C has them, in brackets. gives: NULL: nothing. error: what it
   gives, directly or through a pointer. begun: when, in nanoseconds. */
void log_call(const char *names, const struct value *values, unsigned count, const struct value *gives, cl_int error,
              uint64_t begun);
