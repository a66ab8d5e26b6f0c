/* What C needs of x86-64. clang and gcc take it. */
#ifndef ADRENO_SIM_PROCESSOR_H
#define ADRENO_SIM_PROCESSOR_H

enum { FUTEX_SYSCALL = 202 };

/* MXCSR: round to nearest, all exceptions masked; to flush, results become zero (bit 15), and operands count as zero (bit 6). */
enum { KEEP_DENORMALS = 0x1f80, FLUSH_DENORMALS = KEEP_DENORMALS | 0x8040 };

/* The float mode of the calling thread. */
static inline __attribute__((unused)) unsigned long float_mode(void) { return __builtin_ia32_stmxcsr(); }
static inline __attribute__((unused)) void set_float_mode(unsigned long mode) { __builtin_ia32_ldmxcsr((unsigned)mode); }

/* Says that the calling thread looks at memory until it changes. */
static inline __attribute__((unused)) void pause_thread(void) { __builtin_ia32_pause(); }

#endif
