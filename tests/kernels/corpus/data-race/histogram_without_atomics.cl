// Bins are counted with ++ instead of an atomic.
__kernel void histogram(__global const uchar *pixels, __global int *bins) {
  const int i = get_global_id(0);
#ifdef CLEAN
  atomic_inc(bins + (pixels[i] & 3));
#else
  bins[pixels[i] & 3]++;
#endif
}
