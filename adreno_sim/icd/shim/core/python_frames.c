/* CPython's own functions, of whatever version is in this process (3.9 to 3.15), found by name. Frames may be read by whoever holds
   the interpreter's lock. A host that calls through ctypes has given it back. This thread takes it again in two cases: it is the only
   thread that Python knows, or ctypes itself called the driver. In the second case ctypes takes the lock as soon as the call returns,
   so that a thread which waits for this call cannot hold it forever; a library between the two may have a lock for which the holder
   waits. */
#define _GNU_SOURCE
#include "python_frames.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef void *object;

static struct {
    int (*is_initialized)(void);
    int (*is_finalizing)(void);
    object (*own_thread)(void);     /* the state of this thread, NULL: Python does not know it */
    object (*running_thread)(void); /* of the one that holds the lock */
    object (*interpreter_of)(object thread);
    object (*first_thread)(object interpreter);
    object (*next_thread)(object thread);
    int (*take_lock)(void);
    void (*give_lock)(int state);
    object (*frame)(void);
    object (*back)(object frame);
    object (*code)(object frame);
    int (*line)(object frame);
    object (*attribute)(object of, const char *name);
    const char *(*text)(object of);
    void (*drop)(object of);
    void (*clear_error)(void);
} py;
static bool found;
static _Thread_local int lock_state;
static _Thread_local bool locked;

static bool look_up(void *place, const char *name, const char *other) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol && other) symbol = dlsym(RTLD_DEFAULT, other);
    memcpy(place, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void look_up_all(void) {
    found = look_up(&py.is_initialized, "Py_IsInitialized", NULL) &&
            look_up(&py.is_finalizing, "Py_IsFinalizing", "_Py_IsFinalizing") &&
            look_up(&py.own_thread, "PyGILState_GetThisThreadState", NULL) &&
            look_up(&py.running_thread, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
            look_up(&py.interpreter_of, "PyThreadState_GetInterpreter", NULL) &&
            look_up(&py.first_thread, "PyInterpreterState_ThreadHead", NULL) &&
            look_up(&py.next_thread, "PyThreadState_Next", NULL) && look_up(&py.take_lock, "PyGILState_Ensure", NULL) &&
            look_up(&py.give_lock, "PyGILState_Release", NULL) && look_up(&py.frame, "PyEval_GetFrame", NULL) &&
            look_up(&py.back, "PyFrame_GetBack", NULL) && look_up(&py.code, "PyFrame_GetCode", NULL) &&
            look_up(&py.line, "PyFrame_GetLineNumber", NULL) && look_up(&py.attribute, "PyObject_GetAttrString", NULL) &&
            look_up(&py.text, "PyUnicode_AsUTF8", NULL) && look_up(&py.drop, "Py_DecRef", NULL) &&
            look_up(&py.clear_error, "PyErr_Clear", NULL);
}

static bool is_only_thread(object own) {
    object interpreter = py.interpreter_of(own);
    return interpreter && py.first_thread(interpreter) == own && !py.next_thread(own);
}

/* Whether an address is of ctypes or cffi: of libffi, or of a module or an interpreter that libffi is linked into. */
static bool is_foreign_call(const void *address) {
    Dl_info from, interpreter;
    if (!address || !dladdr(address, &from) || !from.dli_fname) return false;
    const char *name = strrchr(from.dli_fname, '/');
    name = name ? name + 1 : from.dli_fname;
    if (!strncmp(name, "libffi", 6) || !strncmp(name, "_ctypes", 7) || !strncmp(name, "_cffi_backend", 13)) return true;
    return dladdr((void *)(uintptr_t)py.is_initialized, &interpreter) && interpreter.dli_fbase == from.dli_fbase;
}

/* Whether this thread may look at Python's objects; then `locked` says whether the lock is to be given back. */
static bool hold_lock(const void *caller) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_up_all);
    locked = false;
    if (!found || !py.is_initialized() || py.is_finalizing()) return false;
    object own = py.own_thread();
    if (!own) return false;
    if (py.running_thread() == own) return true;
    if (!is_only_thread(own) && !is_foreign_call(caller)) return false;
    lock_state = py.take_lock();
    locked = true;
    return true;
}

int take_python_frames(const void *caller, struct python_frame *frames, int most) {
    if (!hold_lock(caller)) return 0;
    int count = 0;
    object frame = py.frame(), before = NULL; /* the first is borrowed */
    while (frame && count < most) {
        frames[count].line = py.line(frame);
        frames[count++].code = py.code(frame);
        object next = py.back(frame);
        if (before) py.drop(before);
        before = frame = next;
    }
    if (before) py.drop(before);
    if (!count && locked) py.give_lock(lock_state);
    return count;
}

void drop_python_frames(const struct python_frame *frames, int count) {
    for (int i = 0; i < count; i++) py.drop(frames[i].code);
    if (count && locked) py.give_lock(lock_state);
}

static void read_attribute(object of, const char *name, char *text, size_t room) {
    object value = py.attribute(of, name);
    const char *found_text = value ? py.text(value) : NULL;
    snprintf(text, room, "%s", found_text ? found_text : "?");
    if (!found_text) py.clear_error();
    if (value) py.drop(value);
}

uint32_t put_python_frames(struct bytes *to, const struct python_frame *frames, int count) {
    for (int i = 0; i < count; i++) {
        char file[400], name[160], text[600];
        read_attribute(frames[i].code, "co_filename", file, sizeof file);
        read_attribute(frames[i].code, "co_name", name, sizeof name);
        snprintf(text, sizeof text, "%s:%d in %s", file, frames[i].line, name);
        put_text(to, text);
    }
    return (uint32_t)count;
}
