// The work-items of a block all write the block's mean.
__kernel void block_mean(__global const float *in, __write_only image2d_t out) {
  const int i = get_global_id(0), block = i / 4;
  const float4 v = vload4(block, in);
  const float mean = (v.x + v.y + v.z + v.w) * 0.25f;
#ifdef CLEAN
  if (i % 4 == 0)
#endif
    write_imagef(out, (int2)(block, 0), (float4)(mean));
}
