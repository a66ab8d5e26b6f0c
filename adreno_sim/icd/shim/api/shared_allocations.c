/* Shared virtual memory: its allocations, and which of them kernels reach. An allocation is a buffer whose bytes the host uses where
   they lie in the heap, which the server has at the same address. */
#include "../core/misuse.h"
#include "programs.h"

#define ACCESS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define LARGEST_TYPE 128 /* bytes of long16, which every allocation's alignment is */

cl_bitfield shared_capabilities(const struct link *link) {
    return link->shares_addresses ? device_number(link, CL_DEVICE_SVM_CAPABILITIES) : 0;
}

static const uint8_t *start_of(const struct memory *memory) { return memory->link->heap + memory->place; }

size_t shared_offset(const struct memory *memory, const void *pointer) {
    return (size_t)((const uint8_t *)pointer - start_of(memory));
}

bool shared_has(const struct memory *memory, const void *pointer, size_t bytes) {
    return inside(shared_offset(memory, pointer), bytes, memory->size);
}

struct memory *hold_shared(const struct context *context, const void *pointer) {
    struct link *link = context->link;
    state_lock(link);
    struct memory *found = link->shared;
    while (found && (found->context != context || shared_offset(found, pointer) >= found->size)) found = found->next_shared;
    if (found) object_hold(found);
    state_unlock(link);
    return found;
}

/* Ranges of allocations that were freed, the newest last, for as long as nothing else lies there. */
static struct freed {
    const uint8_t *start;
    size_t size;
    uint32_t call;
} freed[64];
static unsigned freed_next;

void check_freed(const struct link *link, const void *pointer) {
    struct link *locked = (struct link *)link;
    state_lock(locked);
    for (unsigned i = 0; pointer && i < sizeof freed / sizeof *freed; i++)
        if ((const uint8_t *)pointer >= freed[i].start && (const uint8_t *)pointer < freed[i].start + freed[i].size)
            note_misuse((struct misuse){.what = ADRENO_MISUSE_USE_AFTER_RELEASE},
                        "%s uses shared virtual memory that was freed; call %u made it", called_function(), freed[i].call);
    state_unlock(locked);
}

static void forget_freed(const uint8_t *start, size_t size) {
    for (unsigned i = 0; i < sizeof freed / sizeof *freed; i++)
        if (start < freed[i].start + freed[i].size && freed[i].start < start + size) freed[i].size = 0;
}

void *API(clSVMAlloc)(cl_context context, cl_bitfield flags, size_t bytes, cl_uint alignment) {
    const cl_bitfield grain = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS, access = flags & ACCESS;
    if (!object_is(context, CONTEXT) || link_lost(context->link)) return NULL;
    cl_bitfield has = shared_capabilities(context->link);
    if (!has || flags & ~(ACCESS | grain) || access & (access - 1)) return NULL;
    if (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER && !(has & CL_DEVICE_SVM_FINE_GRAIN_BUFFER)) return NULL;
    if (flags & CL_MEM_SVM_ATOMICS && !(flags & CL_MEM_SVM_FINE_GRAIN_BUFFER && has & CL_DEVICE_SVM_ATOMICS)) return NULL;
    if (!bytes || bytes > device_number(context->link, CL_DEVICE_MAX_MEM_ALLOC_SIZE)) return NULL;
    if (alignment & (alignment - 1) || alignment > LARGEST_TYPE) return NULL;
    struct memory *made = new_memory(context, flags | CL_MEM_SHARED_VIRTUAL, CL_MEM_OBJECT_BUFFER, CALLER);
    if (!made) return NULL;
    made->size = bytes;
    if (place_memory(made)) {
        object_release(made, MEMORY, 0);
        return NULL;
    }
    struct link *link = context->link;
    state_lock(link);
    made->next_shared = link->shared;
    link->shared = made;
    forget_freed(start_of(made), made->size);
    state_unlock(link);
    return (void *)start_of(made);
}

/* Takes the allocation that begins at `pointer` out of the list. */
static struct memory *take_shared(struct link *link, const struct context *context, const void *pointer) {
    state_lock(link);
    struct memory **at = &link->shared;
    while (*at && ((*at)->context != context || start_of(*at) != pointer)) at = &(*at)->next_shared;
    struct memory *found = *at;
    if (found) {
        *at = found->next_shared;
        freed[freed_next++ % (sizeof freed / sizeof *freed)] = (struct freed){start_of(found), found->size, found->head.call};
    }
    state_unlock(link);
    return found;
}

void API(clSVMFree)(cl_context context, void *pointer) {
    if (!object_is(context, CONTEXT) || !pointer) return;
    struct memory *found = take_shared(context->link, context, pointer);
    if (found)
        object_release(found, MEMORY, 0);
    else
        check_freed(context->link, pointer);
}

struct freeing {
    svm_free_notice notice;
    void *data;
    cl_command_queue queue; /* held */
    cl_uint count;
    void *pointers[];
};

static void free_now(cl_event event, cl_int status, void *data) {
    struct freeing *freeing = data;
    (void)event, (void)status;
    if (freeing->notice)
        freeing->notice(freeing->queue, freeing->count, freeing->pointers, freeing->data);
    else
        for (cl_uint i = 0; i < freeing->count; i++) API(clSVMFree)(freeing->queue->context, freeing->pointers[i]);
    object_drop(freeing->queue);
    free(freeing);
}

cl_int API(clEnqueueSVMFree)(cl_command_queue queue, cl_uint count, void **pointers, svm_free_notice notice, void *data, WAITS) {
    cl_int error = check_enqueue(queue, wait_count, waits);
    if (error) return error;
    if (!shared_capabilities(queue->context->link)) return CL_INVALID_OPERATION;
    if (!count != !pointers) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++)
        if (!pointers[i]) return CL_INVALID_VALUE;
    struct freeing *freeing = malloc(sizeof *freeing + count * sizeof *pointers);
    if (!freeing) return CL_OUT_OF_HOST_MEMORY;
    *freeing = (struct freeing){.notice = notice, .data = data, .queue = queue, .count = count};
    if (count) memcpy(freeing->pointers, pointers, count * sizeof *pointers);
    cl_event made;
    struct command command = {.queue = queue, .type = CL_COMMAND_SVM_FREE, .kind = ADRENO_COMMAND_NOTHING};
    if ((error = enqueue(&command, wait_count, waits, &made, false))) {
        free(freeing);
        return error;
    }
    object_hold(queue);
    if ((error = add_event_callback(made, CL_COMPLETE, free_now, freeing))) {
        object_drop(queue);
        free(freeing);
    }
    if (event && !error)
        *event = made;
    else
        object_release(made, EVENT, 0);
    return error;
}

static cl_int set_pointer(struct slot *slot, const struct kernel *kernel, cl_uint place, const void *value) {
    const struct context *context = kernel->program->context;
    const struct facts *facts = kernel->facts;
    if (facts->params[place].kind != ADRENO_ARGUMENT_BUFFER)
        return refuse_call(CL_INVALID_ARG_VALUE, facts->name, "argument %u of %s is not a pointer", place, facts->name);
    if (!value) {
        *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_NULL};
        return CL_SUCCESS;
    }
    struct memory *memory = hold_shared(context, value);
    if (!memory) {
        check_freed(context->link, value);
        return refuse_call(CL_INVALID_ARG_VALUE, facts->name, "%p is in no allocation of shared virtual memory", value);
    }
    *slot = (struct slot){.set = true, .kind = ADRENO_ARGUMENT_SHARED, .object = &memory->head, .number = memory->number};
    slot->serial = object_serial(memory);
    slot->bytes = shared_offset(memory, value);
    object_drop(memory);
    return CL_SUCCESS;
}

cl_int API(clSetKernelArgSVMPointer)(cl_kernel kernel, cl_uint place, const void *value) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    if (!shared_capabilities(kernel->program->context->link)) return CL_INVALID_OPERATION;
    if (place >= kernel->facts->param_count)
        return refuse_call(CL_INVALID_ARG_INDEX, kernel->facts->name, "argument %u of %s, which has %u", place, kernel->facts->name,
                           kernel->facts->param_count);
    struct slot *slot = &kernel->slots[place];
    return note_setting(slot, set_pointer(slot, kernel, place, value));
}

static cl_int set_reached(struct kernel *kernel, size_t count, void *const *pointers) {
    const struct context *context = kernel->program->context;
    struct reached *made = calloc(count + 1, sizeof *made);
    uint32_t found = 0;
    if (!made) return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct memory *memory = hold_shared(context, pointers[i]);
        if (!memory) {
            check_freed(context->link, pointers[i]);
            free(made);
            return refuse_call(CL_INVALID_VALUE, kernel->facts->name, "%p is in no allocation of shared virtual memory",
                               pointers[i]);
        }
        uint32_t known = 0;
        while (known < found && made[known].number != memory->number) known++;
        made[known] = (struct reached){&memory->head, object_serial(memory), memory->number};
        found += known == found;
        object_drop(memory);
    }
    free(kernel->reached);
    kernel->reached = made;
    kernel->reached_count = found;
    return CL_SUCCESS;
}

cl_int API(clSetKernelExecInfo)(cl_kernel kernel, cl_uint name, size_t size, const void *value) {
    if (!object_is(kernel, KERNEL)) return CL_INVALID_KERNEL;
    bool has_any = shared_capabilities(kernel->program->link);
    switch (name) {
    case CL_KERNEL_EXEC_INFO_SVM_PTRS:
        if (!has_any) return CL_INVALID_OPERATION;
        if (!value != !size || size % sizeof(void *)) return CL_INVALID_VALUE;
        return set_reached(kernel, size / sizeof(void *), value);
    case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
        if (!has_any) return CL_INVALID_OPERATION;
        if (!value || size != sizeof(cl_bool)) return CL_INVALID_VALUE;
        return *(const cl_bool *)value ? CL_INVALID_OPERATION : CL_SUCCESS; /* no device has the system's memory */
    default: return CL_INVALID_VALUE;
    }
}
