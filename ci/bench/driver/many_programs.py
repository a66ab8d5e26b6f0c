"""A client that builds programs and launches their kernels, for the clients suite: PROGRAMS THREADS KERNELS SALT PLATFORM.

It waits for its queues once, at the end. SALT is a number in every source: with another one, no cache knows it. PLATFORM is a
part of a platform's name.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pyopencl as cl

ITEMS, GROUP = 1024, 64
KERNEL = """
kernel void k{n}(global float *out, global const float *a, int count) {{
  local float tree[64];
  int i = get_global_id(0), place = get_local_id(0);
  float sum = {salt}.0f;
  for (int j = 0; j < count; j++) {{
    float v = a[(i + j * {n}) % 1024];
    if (v > 0.5f) sum += v * {n}.5f; else sum -= native_sin(v) * (j & {n});
  }}
  tree[place] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_of = 32; half_of; half_of >>= 1) {{
    if (place < half_of) tree[place] += tree[place + half_of];
    barrier(CLK_LOCAL_MEM_FENCE);
  }}
  out[i] = sum + tree[0];
}}
"""


def main() -> None:
    programs, threads, kernels, salt = map(int, sys.argv[1:5])
    platform = next(each for each in cl.get_platforms() if sys.argv[5] in each.name)
    context = cl.Context([platform.get_devices()[0]])
    left, lock, wrong = list(range(programs)), threading.Lock(), []

    def work() -> None:
        queue = cl.CommandQueue(context)
        flags = cl.mem_flags
        given = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=np.linspace(0, 1, ITEMS, dtype=np.float32))
        made = cl.Buffer(context, flags.WRITE_ONLY, 4 * ITEMS)
        while True:
            with lock:
                if not left:
                    break
                first = left.pop() * kernels
            source = "".join(KERNEL.format(n=first + n + 1, salt=salt) for n in range(kernels))
            for kernel in cl.Program(context, source).build(cache_dir=False).all_kernels():
                kernel(queue, (ITEMS,), (GROUP,), made, given, np.int32(5))
        result = np.empty(ITEMS, np.float32)
        cl.enqueue_copy(queue, result, made)
        if not np.isfinite(result).all():
            wrong.append("a result is not finite")

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
