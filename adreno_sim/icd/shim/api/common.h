/* What functions of the API share: answers to queries, errors through a pointer, memory objects and their places. */
#pragma once

#include "../core/schedule.h"

struct platform {
    struct object head;
};

struct device {
    struct object head;
};

extern struct platform the_platform;
extern struct device the_device;

#define MAP_WRITES (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)

struct map {
    struct map *next;
    uint64_t number; /* never used twice; the command that makes the mapping knows it */
    uint32_t call;   /* which enqueued that command; 0 until it is complete */
    struct memory *memory;
    void *pointer;
    cl_bitfield flags;
    size_t offset, bytes; /* of a buffer */
    size_t origin[3], region[3], row, slice; /* of an image; row, slice: its pitches */
    struct range staging; /* of an image: held until it is unmapped */
    struct map *next_of_link, *previous_of_link;
    uint64_t *digests; /* mapped_regions.c */
    bool begun;        /* its command: until then the host has not mapped anything */
    bool touched;      /* others than the host may have changed the bytes */
};

struct memory {
    struct object head;
    struct context *context; /* held */
    struct link *link;
    uint32_t number, kind; /* for the server: ADRENO_KIND_* */
    cl_uint type;          /* CL_MEM_OBJECT_* */
    cl_bitfield flags;
    size_t size, offset;
    void *host;            /* CL_MEM_USE_HOST_PTR */
    uint64_t *digests;     /* of its blocks: host_memory.c; under the lock */
    struct memory *parent; /* held */
    _Atomic uint32_t children; /* sub-buffers and images over it */
    uint64_t place;        /* in the heap; ADRENO_NO_PLACE: an image */
    cl_image_format format;
    cl_image_desc desc;    /* as it was given */
    size_t texel, row_pitch, slice_pitch;
    size_t host_row, host_slice; /* of `host`, of an image */
    cl_properties *list;
    size_t list_count;
    struct memory *next_shared; /* of the link's `shared`, under the lock */
    uint32_t shared_maps;       /* of shared memory and its parts, under the lock */
    struct map *maps; /* under the lock */
    uint32_t map_count;
    uint32_t part_maps; /* begun maps for writing of sub-buffers and images over it, under the lock */
    struct notice *destructors;
};

struct sampler {
    struct object head;
    struct context *context;
    cl_bool normalized;
    cl_uint addressing, filter;
    cl_properties *list;
    size_t list_count;
};

/* Body of MEMORY and IMAGE_BYTES. */
struct memory_body {
    uint32_t number, kind;
    uint64_t flags, size;
    uint32_t order, type;
    uint64_t width, height, depth, layers, row_pitch, slice_pitch;
    uint32_t parent, zero;
    uint64_t offset;
};
_Static_assert(sizeof(struct memory_body) == ADRENO_SIZE_MEMORY_BODY, "MEMORY_BODY is without padding");

/* Body of READ and WRITE; of COPY from `region` on, behind two numbers of memories. */
struct transfer {
    uint64_t memory, staging, region[3], origin[3], row_pitch, slice_pitch, staging_origin[3], staging_row, staging_slice;
};
_Static_assert(sizeof(struct transfer) == ADRENO_SIZE_TRANSFER, "TRANSFER is without padding");
_Static_assert(sizeof(struct transfer) == ADRENO_SIZE_COPY_BODY, "COPY_BODY has the same form");

/* Answers a query with `bytes` of `data`. */
static inline cl_int give(size_t size, void *value, size_t *size_ret, const void *data, size_t bytes) {
    if (value && size < bytes) return CL_INVALID_VALUE;
    if (value && bytes) memcpy(value, data, bytes);
    if (size_ret) *size_ret = bytes;
    return CL_SUCCESS;
}

/* Answers the query of the function in which it stands. */
#define GIVE(type, ...) \
    do { \
        type answer = __VA_ARGS__; \
        return give(size, value, size_ret, &answer, sizeof answer); \
    } while (0)
#define GIVE_TEXT(text) return give(size, value, size_ret, text, strlen(text) + 1)

static inline void *fail(cl_int *error, cl_int code) {
    entered.error = code;
    if (error) *error = code;
    return NULL;
}

static inline void *succeed(cl_int *error, void *made) {
    entered.error = CL_SUCCESS;
    if (error) *error = CL_SUCCESS;
    return made;
}

static inline cl_uint users(const void *object) { return atomic_load(&((const struct object *)object)->users); }
static inline bool is_image(const struct memory *memory) { return memory->kind != ADRENO_KIND_BUFFER; }
static inline bool valid_devices(cl_uint count, const cl_device_id *devices) {
    for (cl_uint i = 0; i < count; i++)
        if (devices[i] != &the_device) return false;
    return true;
}

/* Copies a list of properties with the 0 at its end. Returns the words in it, 0 for no list; -1: no memory. */
static inline long copy_list(const cl_properties *from, cl_properties **to) {
    size_t count = 0;
    if (!from) return 0;
    while (from[count]) count += 2;
    if (!(*to = malloc((count + 1) * sizeof **to))) return -1;
    memcpy(*to, from, (count + 1) * sizeof **to);
    return (long)count + 1;
}

/* Checks for enqueueing with a memory object: the object, its context, and what the host may do with it. */
cl_int check_memory(const struct queue *queue, const struct memory *memory, bool image, cl_bitfield forbidden);
/* Whether `offset` and `bytes` lie in a buffer. */
static inline bool inside(size_t offset, size_t bytes, size_t size) { return bytes <= size && offset <= size - bytes; }
/* A sub-buffer that begins where the device cannot address it. */
bool is_misaligned(const struct memory *memory);

/* platform.c: the device's answer as a number of up to 8 bytes, or as its element `place` of size_t. */
uint64_t device_number(const struct link *link, cl_uint query);
size_t device_size(const struct link *link, cl_uint query, unsigned place);

/* images.c: width, height, depth or layers of an image as far as regions count them; rows of its host layout. */
void image_extent(const struct memory *image, size_t extent[3]);
cl_int check_region(const struct memory *image, const size_t *origin, const size_t *region);
/* Bytes from row to row and from slice to slice of a region in the host's memory, by the pitches that were given or 0. The layers
   of a 1D image array count as rows. */
void host_layout(const struct memory *image, const size_t *region, size_t row_pitch, size_t slice_pitch, size_t *row,
                 size_t *slice);
/* image_formats.c: bytes of a texel; whether OpenCL knows a format, and whether the device has it for a kind of image. */
size_t texel_bytes(const cl_image_format *format);
cl_int check_format(const cl_image_format *format);
cl_int check_support(const struct link *link, const cl_image_format *format, uint32_t kind);
/* Checks a format and a descriptor, whose unused fields it settles; either may be NULL. kind: 0 without a descriptor. */
cl_int check_image(const struct link *link, const cl_image_format *format, cl_image_desc *desc, uint32_t *kind);

/* image_requirements.c: the address of a buffer under an image is a multiple of these bytes. texel: bytes. */
size_t base_alignment(const struct link *link, cl_uint type, size_t texel);

/* image_transfers.c: the body and the host's side of a transfer between an image and `host`. */
struct transfer image_transfer(const struct memory *image, const size_t *origin, const size_t *region);
struct copy image_copy(const struct memory *image, enum way way, const void *host, const size_t *region, size_t row,
                       size_t slice);
/* Writes the memory with which an image is made into it. */
cl_int fill_image(struct memory *image, const void *host);
/* transfers.c: the same for bytes of a buffer. */
struct transfer buffer_transfer(const struct memory *buffer, size_t offset, size_t bytes);
struct copy buffer_copy(const struct memory *buffer, enum way way, size_t offset, size_t bytes, const void *host);
/* Refuses a range that is not inside a buffer of `size` bytes, with its numbers. */
cl_int refuse_range(size_t bytes, size_t offset, size_t size);
/* A box of bytes in memory: completes pitches that are 0. CL_INVALID_VALUE for pitches that are too small or a box that does not
   lie in `size` bytes. */
cl_int settle_box(const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch, size_t size);

/* host_memory.c: bytes of a buffer as the host's memory has them. Nothing for a buffer without. */

/* They are the buffer's now, except for what is still mapped. */
void host_memory_known(struct memory *memory, size_t offset, size_t bytes);
/* The host may change them from now on. */
void host_memory_unknown(struct memory *memory, size_t offset, size_t bytes);
/* Tells where they are no more what they were. */
void check_host_memory(struct memory *memory, size_t offset, size_t bytes);
/* A command moves data between the buffer and memory of the host that may be its own. */
void host_memory_used(struct memory *memory, const void *host, size_t bytes);

/* shared_allocations.c: shared virtual memory, whose addresses are those of the heap. */

/* A flag of the shim's own: memory of clSVMAlloc. */
#define CL_MEM_SHARED_VIRTUAL ((cl_bitfield)1 << 62)

/* CL_DEVICE_SVM_CAPABILITIES; none where the heap could not be mapped where the server has it. */
cl_bitfield shared_capabilities(const struct link *link);
/* The allocation of a context in which an address lies, NULL where there is none. With a hold. */
struct memory *hold_shared(const struct context *context, const void *pointer);
/* The byte of an allocation at an address in it. */
size_t shared_offset(const struct memory *memory, const void *pointer);
/* Whether `bytes` at an address lie in the allocation. */
bool shared_has(const struct memory *memory, const void *pointer, size_t bytes);
/* Whether the host reaches it at any time. */
static inline bool is_fine(const struct memory *memory) { return memory->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER; }
/* The allocation to which a buffer belongs, NULL: none. */
static inline struct memory *shared_under(struct memory *memory) {
    while (memory->parent) memory = memory->parent;
    return memory->flags & CL_MEM_SHARED_VIRTUAL ? memory : NULL;
}
/* The host maps a buffer, or unmaps it: the server is notified if that is coarse-grained shared memory. */
void share_mapped(struct memory *memory, bool is_mapped);
/* Tells of an address that was in an allocation which was freed. */
void check_freed(const struct link *link, const void *pointer);

/* mapping.c */
/* Whether commands of this type map, unmap or migrate memory, whose content they do not change. */
bool is_of_mapping(cl_uint type);
cl_int check_map_flags(cl_bitfield flags);
uint64_t number_map(void);
struct map *add_map(struct memory *memory, const struct map *from);
/* Takes the last mapping at `pointer` out of the list. The caller frees it. */
struct map *take_map(struct memory *memory, const void *pointer);
/* A command begins that may not touch memory which is mapped for writing: reported if it does. */
void check_mapped(const struct object *memory, const struct event *event);
/* A part of other memory is mapped, or is not any more: `by` is 1 or -1. Under the lock. */
void count_part_map(struct memory *memory, const struct map *map, int by);

/* mapped_regions.c: what the host writes where it maps for reading only is reported. All under the lock. */

/* A mapping is made, or given up by the host. compares: whether its memory is still the mapping's. */
void list_map(struct map *map);
void unlist_map(struct map *map, bool compares);
/* A command that uses memory begins. */
void begin_on_maps(const struct memory *memory, const struct event *event);
/* A command that uses memory is complete: if it made a mapping, the host may use that from now on. */
void complete_map(const struct object *memory, const struct event *event);

/* device_copies.c: between two buffers, or over one. `bytes` may be 0. */
cl_int copy_buffer(cl_command_queue queue, cl_uint type, cl_mem source, cl_mem target, size_t source_offset, size_t target_offset,
                   size_t bytes, WAITS);
/* The list of objects and the flags of a migration. */
cl_int check_migration(cl_uint count, const void *objects, cl_bitfield flags);
cl_int fill_buffer(cl_command_queue queue, cl_uint type, cl_mem buffer, const void *pattern, size_t pattern_bytes, size_t offset,
                   size_t bytes, WAITS);
/* transfers.c: between a buffer and the host's memory. */
cl_int transfer_buffer(cl_command_queue queue, cl_uint type, cl_mem buffer, bool writing, cl_bool blocking, size_t offset,
                       size_t bytes, const void *host, WAITS);

/* memory.c */

/* Whether a handle may be used. One that is released may not, whether or not commands still use the memory: that is a matter of
   time. */
bool memory_lives(const void *handle);
void adopt(struct memory *made, struct memory *parent);
struct memory *new_memory(struct context *context, cl_bitfield flags, cl_uint type, void *made_at);
/* Asks the server for the memory described by `made`. */
cl_int place_memory(struct memory *made);
/* The flags of memory; and whether the host's pointer is given just where they need it. */
cl_int check_flags(cl_bitfield flags);
cl_int check_host_pointer(cl_bitfield flags, const void *host);
/* Adds to the flags of a part of other memory what they do not say, and refuses what contradicts those of the whole. */
cl_int inherit_flags(const struct memory *whole, cl_bitfield *flags);
/* The device has no properties of memory. */
cl_int check_no_properties(const cl_properties *properties);
