/* Programs and kernels. */
#pragma once

#include "common.h"

struct param {
    uint32_t kind, bytes, address, access, qualifier; /* kind: ADRENO_ARGUMENT_* */
    char *name, *type;
};

/* What the server says of a kernel. */
struct facts {
    char *name, *attributes;
    uint64_t local_bytes, private_bytes;
    uint32_t required[3], sure, multiple, sub_group, param_count; /* sure: work-items of a group that every kernel can have */
    _Atomic uint32_t largest;                                      /* that this one can; 0: not asked yet */
    struct param *params;
};

struct program {
    struct object head;
    struct context *context; /* held */
    struct link *link;
    char *source;         /* NULL: made from a binary or by linking */
    struct bytes recipe;  /* the binary: how it was built, or is to be */
    cl_uint type;         /* CL_PROGRAM_BINARY_TYPE_* of what is built */
    _Atomic bool building;
    uint32_t number;      /* of what is built, for the server; 0: nothing */
    cl_int status;        /* CL_BUILD_* */
    char *options, *log;
    bool uniform;         /* work-groups must divide the NDRange */
    struct facts *kernels;
    uint32_t kernel_count;
    _Atomic uint32_t attached; /* kernel objects */
    struct notice *destructors;
};

struct slot {
    bool set;
    cl_int refused;         /* how the last call that sets it was refused; 0: it was not */
    uint32_t refused_call;  /* its number */
    uint32_t kind;  /* ADRENO_ARGUMENT_* */
    size_t bytes;   /* of a value; of local memory; the byte of shared virtual memory to which a pointer leads */
    uint8_t few[16], *many;
    const struct object *object; /* not held: a program may release it, and may not launch then */
    uint64_t serial, number;     /* of the object; for the server */
};

/* launch.c: keeps how the call that sets an argument ended, for a launch without it. Returns `error`. */
cl_int note_setting(struct slot *slot, cl_int error);

struct kernel {
    struct object head;
    struct program *program; /* held */
    uint32_t place;          /* in the program */
    struct facts *facts;
    struct slot *slots;
    struct reached *reached; /* shared virtual memory that it reaches by other pointers than its arguments */
    uint32_t reached_count;
};

/* Memory that a kernel was given by address, not held: a program may free it, and may not launch then. */
struct reached {
    const struct object *object;
    uint64_t serial, number;
};

/* Work-items of the largest group of a kernel that is not refused. The server is asked once: it may have to compile. */
size_t largest_group(const struct kernel *kernel);

/* recipes.c: how a program is made, as bytes; the program's binary. */
enum form { BUILD_SOURCE, COMPILE_SOURCE, LINK_PARTS };

/* Begins a recipe; sources and parts follow by put_..., then end_recipe. */
void begin_recipe(struct bytes *recipe, enum form form, cl_uint type, const char *options, const char *source);
void add_header(struct bytes *headers, const char *name, const char *text);
void end_recipe(struct bytes *recipe, uint32_t header_count, const struct bytes *headers, uint32_t part_count,
                const struct bytes *parts);
/* Whether `data` is a whole recipe of this version; its type in `type`. */
bool is_recipe(const uint8_t *data, size_t size, cl_uint *type);
/* Follows it: the server's number of the result in `number`, its PROGRAM_REPLY or error text in `reply`. */
cl_int follow_recipe(struct link *link, const uint8_t *data, size_t size, uint32_t *number, struct bytes *reply);
/* Asks the server to link. */
cl_int request_link(struct link *link, const char *options, uint32_t count, const uint32_t *parts, uint32_t *number,
                    struct bytes *reply);
void forget_program(struct link *link, uint32_t number);

/* builds.c */
void forget_build(struct program *program);
/* Takes the server's reply into the program. `failure` is the error of the function that built it. */
cl_int take_build(struct program *program, cl_int status, uint32_t number, cl_uint type, struct bytes *reply, cl_int failure);
struct program *new_program(struct context *context, void *made_at);
