// A tile of 40,000 bytes; the device has 32,768.
#ifdef CLEAN
#define TILE 8000
#else
#define TILE 10000
#endif

__kernel void big_tile(__global float *out) {
  __local float tile[TILE];
  const int lid = get_local_id(0);
  tile[lid * 1000] = lid;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[lid] = tile[(lid ^ 1) * 1000];
}
