/* Where in the host's program a call came from: its Python frames, or return addresses on the stack. */
#pragma once

#include <stdint.h>

struct link;

/* Notes for the server where the call with this number, which runs in this thread, came from. Call it without a lock. */
void note_place(uint32_t call);
/* The same where the place was found before, in the same call; else nothing. */
void note_known_place(uint32_t call);
/* The innermost frame of a place in words, which live as long as the process; NULL where there is none. */
const char *text_of_place(uint32_t place);
/* In the child of fork nothing was sent yet. */
void places_after_fork(void);
