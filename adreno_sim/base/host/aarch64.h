/* What C needs of Arm's 64-bit state. clang and gcc take it. */
#ifndef ADRENO_SIM_PROCESSOR_H
#define ADRENO_SIM_PROCESSOR_H

enum { FUTEX_SYSCALL = 98 };

/* FPCR: round to nearest, no traps, NaNs keep their payload; to flush, operands and results become zero (FZ, bit 24). FZ16, the
 * same for halves, stays off: code flushes halves itself, after they are rounded. */
enum { KEEP_DENORMALS = 0, FLUSH_DENORMALS = 1 << 24 };

/* LLVM's intrinsics, for which clang has no names, and gcc's. */
#ifdef __clang__
unsigned long read_fpcr(void) __asm__("llvm.aarch64.get.fpcr");
void write_fpcr(unsigned long mode) __asm__("llvm.aarch64.set.fpcr");
#define YIELD() __builtin_arm_yield()
#else
#define read_fpcr __builtin_aarch64_get_fpcr64
#define write_fpcr __builtin_aarch64_set_fpcr64
#define YIELD() __asm__ volatile("yield")
#endif

/* The float mode of the calling thread. */
static inline __attribute__((unused)) unsigned long float_mode(void) { return read_fpcr(); }
static inline __attribute__((unused)) void set_float_mode(unsigned long mode) { write_fpcr(mode); }

/* Says that the calling thread looks at memory until it changes. */
static inline __attribute__((unused)) void pause_thread(void) { YIELD(); }

#endif
