// Every group adds its result to one place.
__kernel void total(__global const int *in, __global int *out) {
  __local int part[4];
  const int lid = get_local_id(0);
  part[lid] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid == 0) {
    const int sum = part[0] + part[1] + part[2] + part[3];
#ifdef CLEAN
    atomic_add(out, sum);
#else
    out[0] = out[0] + sum;
#endif
  }
}
