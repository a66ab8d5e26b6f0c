/* What the host's program does against OpenCL's rules, where it is sure: reported to the server as findings. */
#pragma once

#include "link.h"

struct misuse {
    uint32_t what;      /* ADRENO_MISUSE_* */
    uint32_t call;      /* number of the host's call; 0: the last one that had a number */
    const char *kernel; /* its name, or NULL */
};

/* Keeps a misuse that nobody reported before: what, kernel and text are its place. Takes no lock but its own. */
__attribute__((format(printf, 2, 3))) void note_misuse(struct misuse misuse, const char *format, ...);
/* Tells the server what was kept. Call it without a lock. */
void tell_misuses(void);
/* Around fork: no thread is inside in the child, which begins with nothing reported. */
void misuses_lock(void);
void misuses_unlock(void);
void misuses_after_fork(void);
/* Whether something is kept. */
bool has_misuses(void);
/* The function of OpenCL that the host's program called and that now runs in this thread; "a call" where that is not known. */
const char *called_function(void);
/* "main of ./program+0x1234" for an address of the host's program. */
void describe_address(char *text, size_t room, void *address);
