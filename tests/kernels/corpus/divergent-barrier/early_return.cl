// The guard at the top sends some work-items of the last group home before the barrier.
__kernel void group_max(__global const float *in, __global float *out, const int count) {
  __local float part[4];
  const int i = get_global_id(0), lid = get_local_id(0);
#ifdef CLEAN
  part[lid] = i < count ? in[i] : -INFINITY;
#else
  if (i >= count)
    return;
  part[lid] = in[i];
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid == 0)
    out[get_group_id(0)] = fmax(fmax(part[0], part[1]), fmax(part[2], part[3]));
}
