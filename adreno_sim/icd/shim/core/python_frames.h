/* Frames of the Python program that called, if the host's program is one. */
#pragma once

#include "wire.h"

struct python_frame {
    void *code; /* held */
    int line;
};

/* The innermost frames of this thread, at most `most`: returns how many; 0 where there is no Python in this process, or its
   interpreter is at work in another thread and another library than ctypes called. caller: the address that called the driver.
   Each frame is to be given back. */
int take_python_frames(const void *caller, struct python_frame *frames, int most);
void drop_python_frames(const struct python_frame *frames, int count);
/* Writes "FILE:LINE in NAME" of each. Returns how many. */
uint32_t put_python_frames(struct bytes *to, const struct python_frame *frames, int count);
