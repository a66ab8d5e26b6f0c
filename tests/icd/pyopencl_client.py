"""A program that knows nothing of the simulator: buffers, images, maps, binaries, and a kernel that writes too far."""

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c) {
  c[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)];
}
kernel void negate(read_only image2d_t from, write_only image2d_t to) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(to, at, -read_imagef(from, s, at));
}
"""

(platform,) = [found for found in cl.get_platforms() if "QUALCOMM" in found.vendor]
(device,) = platform.get_devices()
context = cl.Context([device])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
flags = cl.mem_flags
a, b = np.arange(1000, dtype=np.float32), np.full(1000, 2, np.float32)
buffers = [cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x) for x in (a, b)]
out = cl.Buffer(context, flags.WRITE_ONLY, a.nbytes)
program = cl.Program(context, SOURCE).build()
event = program.add(queue, a.shape, None, *buffers, out)
mapped, _ = cl.enqueue_map_buffer(queue, out, cl.map_flags.READ, 0, a.shape, np.float32)
assert (mapped == a + b).all()
mapped.base.release(queue)
assert event.profile.queued <= event.profile.submit <= event.profile.start <= event.profile.end

texels = np.random.default_rng(0).random((9, 13, 4), dtype=np.float32)
source = cl.image_from_array(context, texels, 4)
target = cl.Image(context, flags.WRITE_ONLY, source.format, (13, 9))
program.negate(queue, (13, 9), None, source, target)
found = np.empty_like(texels)
cl.enqueue_copy(queue, found, target, origin=(0, 0), region=(13, 9))
assert (found == -texels).all()

again = cl.Program(context, [device], [program.get_info(cl.program_info.BINARIES)[0]]).build()
again.add(queue, (1001,), None, buffers[0], buffers[0], out)
twice = np.empty_like(a)
cl.enqueue_copy(queue, twice, out)
assert (twice == 2 * a).all()
print("right")
