// Local memory is carved up by hand; the second part does not start on a float4.
__kernel void carve(__global float *out, __local float *scratch, const int first) {
  const int lid = get_local_id(0);
#ifdef CLEAN
  __local float4 *vectors = (__local float4 *)(scratch + (first + 3) / 4 * 4);
#else
  __local float4 *vectors = (__local float4 *)(scratch + first);
#endif
  vectors[lid] = (float4)(lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  vstore4(vectors[lid] + 1.0f, lid, out);
}
