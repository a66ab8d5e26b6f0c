// Both sides of a choice are read; behind the data only the other one may be taken.
__kernel void masked(__global const float4 *in, __global float4 *out, const int count) {
  const int i = get_global_id(0);
#ifdef CLEAN
  const int4 inside = (int4)(i < count ? -1 : 0);
#else
  const int4 inside = (int4)(i <= count ? -1 : 0);
#endif
  out[i] = select((float4)(0.0f), in[i], inside);
}

__kernel void fill(__global float4 *in) { in[get_global_id(0)] = (float4)(1.0f); }
