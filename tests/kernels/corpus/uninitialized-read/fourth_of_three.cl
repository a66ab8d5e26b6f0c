// Triples lie sixteen bytes apart; the fourth lane is nobody's.
__kernel void lengths(__global float3 *points, __global float *out) {
  const int i = get_global_id(0);
  points[i] = (float3)(i, 1.0f, 2.0f);
#ifdef CLEAN
  const float3 p = points[i];
  out[i] = p.x + p.y + p.z;
#else
  const float4 p = ((__global float4 *)points)[i];
  out[i] = p.x + p.y + p.z + p.w;
#endif
}
