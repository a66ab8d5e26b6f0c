// Anchor boxes as structs; the loop count is that of the next feature map.
typedef struct {
  float4 box;
  float score;
  int label;
} anchor_t;

__kernel void best_score(__global const anchor_t *anchors, __global float *best, const int count) {
  float top = -INFINITY;
  for (int i = 0; i < count; ++i)
    top = fmax(top, anchors[i].score);
  best[get_global_id(0)] = top;
}
