/* What the C files here share. They are freestanding: no header of a system, no library.
 *
 * A name in capitals that is defined nowhere here is a constant of a Python module. `constants.py` defines it ahead of this file.
 */
#ifndef ADRENO_SIM_RUNTIME_H
#define ADRENO_SIM_RUNTIME_H

typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT64_TYPE__ int64_t;

/* How a function becomes part of a kernel: into every caller, or by itself. COLD: it runs only when something is wrong. */
#define INLINE __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((cold, noinline))

/* The six values of a report or race record; what they mean depends on the site. */
#define VALUE_PARAMETERS uint64_t v0, uint64_t v1, uint64_t v2, uint64_t v3, uint64_t v4, uint64_t v5
#define VALUES v0, v1, v2, v3, v4, v5
#define NO_VALUES 0, 0, 0, 0, 0, 0

static inline void store_values(uint64_t *to, VALUE_PARAMETERS) {
  to[0] = v0, to[1] = v1, to[2] = v2, to[3] = v3, to[4] = v4, to[5] = v5;
}

static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Returns the address that is stored in a word of a block. */
static inline void *address_in(const uint64_t *block, uint64_t word) { return *(void *const *)(block + word); }

static inline uint64_t load_relaxed(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
static inline void store_relaxed(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

#endif
