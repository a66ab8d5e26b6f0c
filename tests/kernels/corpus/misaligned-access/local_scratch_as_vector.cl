// Local memory is carved up by hand; the second part does not start on a float4.
__kernel void carve(__global float *out, __local float *scratch, const int first) {
  const int lid = get_local_id(0);
#ifdef CLEAN
  // Not even a multiple of four floats would do: a local argument of floats is aligned to a float, no more.
  __local float *vectors = scratch + first;
  vstore4((float4)(lid), lid, vectors);
  barrier(CLK_LOCAL_MEM_FENCE);
  vstore4(vload4(lid, vectors) + 1.0f, lid, out);
#else
  __local float4 *vectors = (__local float4 *)(scratch + first);
  vectors[lid] = (float4)(lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  vstore4(vectors[lid] + 1.0f, lid, out);
#endif
}
