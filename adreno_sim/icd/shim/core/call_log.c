/* The file is opened for each line: a program may close what it did not open, and a file of its own may get the number. */
#define _GNU_SOURCE
#include "call_log.h"
#include "entered.h"
#include "places.h"
#include "schedule.h"
#include <fcntl.h>
#include <stdarg.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define LONGEST 200 /* characters of a text */
#define FEW_BYTES 16 /* of an argument by value that are shown */

static const char *path;
static bool traces;

struct line {
    char text[4096];
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void say(struct line *to, const char *format, ...) {
    va_list given;
    size_t room = sizeof to->text - to->size - 1; /* for the line's end */
    va_start(given, format);
    int size = vsnprintf(to->text + to->size, room, format, given);
    va_end(given);
    if (size > 0) to->size += (size_t)size < room ? (size_t)size : room - 1;
}

static void look_up(void) {
    const char *wanted = getenv("ADRENO_SIM_ICD_TRACE");
    path = getenv("ADRENO_SIM_ICD_LOG");
    if (path && !*path) path = NULL;
    traces = wanted && *wanted;
}

bool logs_calls(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_up);
    return path || traces;
}

static void say_text(struct line *to, const char *text) {
    say(to, "\"");
    for (unsigned i = 0; i < LONGEST && text[i]; i++)
        say(to, text[i] >= 32 && text[i] < 127 && text[i] != '"' && text[i] != '\\' ? "%c" : "\\x%02x", (unsigned char)text[i]);
    say(to, strnlen(text, LONGEST + 1) > LONGEST ? "...\"" : "\"");
}

static void say_bytes(struct line *to, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count && i < FEW_BYTES; i++) say(to, i ? " %02x" : ": %02x", bytes[i]);
    if (count > FEW_BYTES) say(to, " ...");
}

static bool is_named(const char *name, size_t length, const char *wanted) {
    return length == strlen(wanted) && !memcmp(name, wanted, length);
}

/* How many elements an array of sizes has by its name; 0: nobody knows. */
static unsigned count_sizes(const char *name, size_t length, uint64_t dimensions) {
    if (is_named(name, length, "offset") || is_named(name, length, "global") || is_named(name, length, "local"))
        return dimensions <= 3 ? (unsigned)dimensions : 0;
    bool is_place = length >= 6 && (!memcmp(name + length - 6, "origin", 6) || !memcmp(name + length - 6, "region", 6));
    return is_place ? 3 : 0;
}

static void say_value(struct line *to, const struct value *value) {
    const void *pointer = (const void *)(uintptr_t)value->bits;
    if (value->kind == VALUE_SIGNED)
        say(to, "%lld", (long long)value->bits);
    else if (value->kind == VALUE_UNSIGNED)
        say(to, "%llu", (unsigned long long)value->bits);
    else if (!pointer)
        say(to, "NULL");
    else if (value->kind == VALUE_TEXT)
        say_text(to, pointer);
    else
        say(to, "%p", pointer);
}

static const char *next_name(const char *from, size_t *length) {
    from += strspn(from, "(, ");
    *length = strcspn(from, ",)");
    return from;
}

/* succeeded: what pointers lead to is there. */
static void say_arguments(struct line *to, const char *names, const struct value *values, unsigned count, bool succeeded) {
    uint64_t dimensions = 0, size = 0;
    size_t length;
    const char *at = names;
    for (unsigned i = 0; i < count; i++, at += length) {
        at = next_name(at, &length);
        if (is_named(at, length, "dimensions")) dimensions = (uint64_t)values[i].bits;
        if (is_named(at, length, "size")) size = (uint64_t)values[i].bits;
    }
    at = names;
    for (unsigned i = 0; i < count; i++, at += length) {
        at = next_name(at, &length);
        say(to, i ? ", %.*s = " : "%.*s = ", (int)length, at);
        const void *pointer = (const void *)(uintptr_t)values[i].bits;
        unsigned sizes = values[i].kind == VALUE_SIZES && pointer && succeeded ? count_sizes(at, length, dimensions) : 0;
        if (!sizes) say_value(to, &values[i]);
        for (unsigned j = 0; j < sizes; j++) say(to, j ? ", %zu" : "{%zu", ((const size_t *)pointer)[j]);
        if (sizes) say(to, "}");
        bool is_argument = succeeded && pointer && is_named(at, length, "value") && !strcmp(entered.function, "clSetKernelArg");
        if (is_argument) say_bytes(to, pointer, size);
    }
}

static void write_line(struct line *line) {
    line->text[line->size++] = '\n';
    if (traces && write(2, line->text, line->size) < 0) traces = false;
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (file < 0) return;
    if (write(file, line->text, line->size) < 0) path = NULL; /* a full disk */
    close(file);
}

void log_call(const char *names, const struct value *values, unsigned count, const struct value *gives, cl_int error,
              uint64_t begun) {
    struct line line = {.size = 0};
    uint64_t now = now_ns();
    if (error && !entered.call && link_current()) count_call(); /* as the finding of a refused call does */
    say(&line, "[%d.%u %llu.%06llu] %s(", (int)getpid(), thread_number(), (unsigned long long)(begun / 1000000000),
        (unsigned long long)(begun / 1000 % 1000000), entered.function);
    say_arguments(&line, names, values, count, !error);
    say(&line, ")");
    if (gives) say(&line, " = ");
    if (gives && gives->kind != VALUE_SIGNED) say_value(&line, gives);
    if (gives && (gives->kind == VALUE_SIGNED || error))
        say(&line, "%s%s (%d)", gives->kind == VALUE_SIGNED ? "" : ", ", error ? error_name(error) : "CL_SUCCESS", error);
    say(&line, ", %.1f us", (double)(now - begun) / 1000);
    if (entered.call) say(&line, ", call %u", entered.call);
    const char *from = text_of_place(entered.place);
    if (from) say(&line, ", from %s", from);
    write_line(&line);
}
