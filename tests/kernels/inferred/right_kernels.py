"""Correct kernels of common shapes, by name: no launch that is inferred of them has a finding."""

RIGHT = {
    "add with a guard": """kernel void k(global const float* a, global const float* b, global float* c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}""",
    "add with an early return": """kernel void k(global const float* a, global float* c, const uint count) {
  size_t i = get_global_id(0);
  if (i >= count) return;
  c[i] = 2 * a[i];
}""",
    "add without a guard": """kernel void k(global const float* a, global const float* b, global float* c) {
  int i = get_global_id(0);
  c[i] = a[i] + b[i];
}""",
    "grid stride": """kernel void k(global const float* x, global float* y, float a, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = a * x[i] + y[i];
}""",
    "image copy": """kernel void k(read_only image2d_t a, write_only image2d_t b, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  write_imagef(b, (int2)(x, y), read_imagef(a, s, (int2)(x, y)));
}""",
    "image copy by its own extents": """kernel void k(read_only image2d_t a, write_only image2d_t b, sampler_t s) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  if (p.x >= get_image_width(b) || p.y >= get_image_height(b)) return;
  write_imagef(b, p, read_imagef(a, s, p));
}""",
    "blur of an image": """constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void k(read_only image2d_t a, write_only image2d_t b) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 s = 0;
  for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) s += read_imagef(a, edge, (int2)(x + i, y + j));
  if (x < get_image_width(b) && y < get_image_height(b)) write_imagef(b, (int2)(x, y), s / 9);
}""",
    "tiled product": """#define TS 16
kernel void k(global const float* A, global const float* B, global float* C, int M, int N, int K) {
  local float a[TS][TS], b[TS][TS];
  int lx = get_local_id(0), ly = get_local_id(1), col = get_global_id(0), row = get_global_id(1);
  float s = 0;
  for (int t = 0; t < (K + TS - 1) / TS; t++) {
    a[ly][lx] = row < M && t * TS + lx < K ? A[row * K + t * TS + lx] : 0;
    b[ly][lx] = col < N && t * TS + ly < K ? B[(t * TS + ly) * N + col] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TS; k++) s += a[ly][k] * b[k][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < M && col < N) C[row * N + col] = s;
}""",
    "tiled product of whole tiles": """#define TS 16
kernel void k(global const float* A, global const float* B, global float* C, int M, int N, int K) {
  local float a[TS][TS], b[TS][TS];
  int lx = get_local_id(0), ly = get_local_id(1);
  int row = get_group_id(1) * TS + ly, col = get_group_id(0) * TS + lx;
  float s = 0;
  for (int t = 0; t < K / TS; t++) {
    a[ly][lx] = A[row * K + t * TS + lx];
    b[ly][lx] = B[(t * TS + ly) * N + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TS; k++) s += a[ly][k] * b[k][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C[row * N + col] = s;
}""",
    "plain product": """kernel void k(global const float* A, global const float* B, global float* C, int M, int N, int K) {
  int row = get_global_id(0), col = get_global_id(1);
  float s = 0;
  for (int i = 0; i < K; i++) s += A[row * K + i] * B[i * N + col];
  C[row * N + col] = s;
}""",
    "reduction": """kernel void k(global const float* x, global float* sums, local float* part, int n) {
  int i = get_global_id(0), l = get_local_id(0);
  part[l] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
    if (l < s) part[l] += part[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) sums[get_group_id(0)] = part[0];
}""",
    "stencil with clamped borders": """kernel void k(global const float* in, global float* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  int l = max(x - 1, 0), r = min(x + 1, w - 1), u = clamp(y - 1, 0, h - 1), d = clamp(y + 1, 0, h - 1);
  out[y * w + x] = in[y * w + l] + in[y * w + r] + in[u * w + x] + in[d * w + x] - 4 * in[y * w + x];
}""",
    "stencil that leaves its border alone": """kernel void k(global const float* in, global float* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  out[y * w + x] = in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x];
}""",
    "stencil of work-items that are its size": """kernel void k(global const float* in, global float* out) {
  int i = get_global_id(0), n = get_global_size(0);
  out[i] = in[i > 0 ? i - 1 : 0] + in[i] + in[i < n - 1 ? i + 1 : n - 1];
}""",
    "transposition": """#define T 16
kernel void k(global const float* in, global float* out, int width, int height) {
  local float tile[T][T + 1];
  int x = get_group_id(0) * T + get_local_id(0), y = get_group_id(1) * T + get_local_id(1);
  if (x < width && y < height) tile[get_local_id(1)][get_local_id(0)] = in[y * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * T + get_local_id(0);
  y = get_group_id(0) * T + get_local_id(1);
  if (x < height && y < width) out[y * height + x] = tile[get_local_id(0)][get_local_id(1)];
}""",
    "plain transposition": """kernel void k(global const float* in, global float* out, int rows, int cols) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c < cols && r < rows) out[c * rows + r] = in[r * cols + c];
}""",
    "histogram": """kernel void k(global const uchar* data, global int* bins, int n) {
  int i = get_global_id(0);
  if (i < n) atomic_inc(&bins[data[i]]);
}""",
    "histogram in local memory": """kernel void k(global const uint* data, global uint* bins, int n) {
  local uint mine[256];
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) mine[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[data[i] & 255]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) atomic_add(&bins[b], mine[b]);
}""",
    "scan": """kernel void k(global const int* in, global int* out, local int* t, int n) {
  int i = get_global_id(0), l = get_local_id(0);
  t[l] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < get_local_size(0); d *= 2) {
    int v = l >= d ? t[l - d] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] += v;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) out[i] = t[l];
}""",
    "scan of pairs": """kernel void k(global const float* in, global float* out) {
  local float t[128];
  int l = get_local_id(0), at = get_group_id(0) * 128;
  t[2 * l] = in[at + 2 * l];
  t[2 * l + 1] = in[at + 2 * l + 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[at + 2 * l] = t[2 * l] + t[2 * l + 1];
  out[at + 2 * l + 1] = t[2 * l] - t[2 * l + 1];
}""",
    "vload4": """kernel void k(global const float* x, global float* y) {
  int i = get_global_id(0);
  vstore4(2 * vload4(i, x), i, y);
}""",
    "vload4 with a number of elements": """kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n / 4) vstore4(2 * vload4(i, x), i, y);
}""",
    "vload4 with a tail": """kernel void k(global const float* x, global float* y, int n) {
  int i = 4 * get_global_id(0);
  if (i + 3 < n) vstore4(2 * vload4(0, x + i), 0, y + i);
  else for (; i < n; i++) y[i] = 2 * x[i];
}""",
    "float4": """kernel void k(global const float4* x, global float4* y, int n4) {
  int i = get_global_id(0);
  if (i < n4) y[i] = x[i] * x[i];
}""",
    "half": """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const half* x, global half* y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[i] * (half)2;
}""",
    "structs": """typedef struct { float x, y, z; int id; } Point;
kernel void k(global const Point* in, global Point* out, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  Point p = in[i];
  p.x += 1;
  p.id = i;
  out[i] = p;
}""",
    "sub-groups": """#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel void k(global const float* x, global float* y) {
  int i = get_global_id(0);
  y[i] = x[i] <= sub_group_reduce_max(x[i]) ? 1 : 2;
}""",
    "three axes": """kernel void k(global const float* in, global float* out, int w, int h, int d) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x >= w || y >= h || z >= d) return;
  int i = (z * h + y) * w + x;
  out[i] = in[i] + 1;
}""",
    "required groups": """__attribute__((reqd_work_group_size(32, 2, 1)))
kernel void k(global const float* x, global float* y, int w) {
  local float t[2][32];
  t[get_local_id(1)][get_local_id(0)] = x[get_global_id(1) * w + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(1) * w + get_global_id(0)] = t[get_local_id(1)][31 - get_local_id(0)];
}""",
    "rows": """kernel void k(global const float* x, global float* y, int rows, int cols) {
  int r = get_global_id(0);
  if (r >= rows) return;
  float m = -INFINITY;
  for (int c = 0; c < cols; c++) m = fmax(m, x[r * cols + c]);
  for (int c = 0; c < cols; c++) y[r * cols + c] = x[r * cols + c] - m;
}""",
    "flat over two sizes": """kernel void k(global const float* x, global float* y, int w, int h) {
  int i = get_global_id(0);
  if (i >= w * h) return;
  int r = i / w, c = i % w;
  y[c * h + r] = x[i];
}""",
    "filter": """kernel void k(global const float* x, global float* y, constant float* taps, int n, int k) {
  int i = get_global_id(0);
  if (i >= n) return;
  float s = 0;
  for (int j = 0; j < k; j++) s += taps[j] * x[min(i + j, n - 1)];
  y[i] = s;
}""",
    "sizes in a vector": """kernel void k(global const float* x, global float* y, int2 size) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  if (p.x >= size.x || p.y >= size.y) return;
  y[p.y * size.x + p.x] = x[p.y * size.x + p.x];
}""",
    "gather": """kernel void k(global const float* x, global const int* index, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[index[i]];
}""",
    "stride": """kernel void k(global const float* x, global float* y, int width, int height, int stride) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c < width && r < height) y[r * stride + c] = x[r * stride + c];
}""",
    "pooling": """kernel void k(global const float* x, global float* y, int ow, int oh) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c >= ow || r >= oh) return;
  int w = 2 * ow, at = 2 * r * w + 2 * c;
  y[r * ow + c] = fmax(fmax(x[at], x[at + 1]), fmax(x[at + w], x[at + w + 1]));
}""",
    "convolution of valid places": """kernel void k(global const float* x, global float* y, constant float* f, int n, int k) {
  int i = get_global_id(0);
  if (i > n - k) return;
  float s = 0;
  for (int j = 0; j < k; j++) s += x[i + j] * f[j];
  y[i] = s;
}""",
    "bitonic step": """kernel void k(global uint* data, uint j, uint k) {
  uint i = get_global_id(0), other = i ^ j;
  if (other > i) {
    uint a = data[i], b = data[other];
    if ((a > b) == ((i & k) == 0)) { data[i] = b; data[other] = a; }
  }
}""",
    "offset": """kernel void k(global const float* x, int offset_x, global float* y, int offset_y, int n) {
  int i = get_global_id(0);
  if (i < n) y[offset_y + i] = x[offset_x + i];
}""",
    "array of images": """kernel void k(read_only image2d_array_t a, write_only image2d_array_t b) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagef(b, p, read_imagef(a, s, p));
}""",
    "async copy": """kernel void k(global const float* x, global float* y) {
  local float t[64];
  event_t e = async_work_group_copy(t, x + get_group_id(0) * 64, 64, 0);
  wait_group_events(1, &e);
  y[get_global_id(0)] = t[63 - get_local_id(0)];
}""",
    "channels first": """kernel void k(global const float* x, global float* y, global const float* bias, int C, int H, int W) {
  int w = get_global_id(0), h = get_global_id(1), c = get_global_id(2);
  if (w >= W || h >= H || c >= C) return;
  y[(c * H + h) * W + w] = x[(c * H + h) * W + w] + bias[c];
}""",
    "work-group functions": """kernel void k(global const int* x, global int* y, int n) {
  int i = get_global_id(0);
  int s = work_group_reduce_add(i < n ? x[i] : 0);
  if (get_local_id(0) == 0) y[get_group_id(0)] = s;
}""",
    "counter": """kernel void k(global const float* x, global int* found, global int* count, float limit, int n) {
  int i = get_global_id(0);
  if (i < n && x[i] > limit) found[atomic_inc(count)] = i;
}""",
    "softmax of rows": """kernel void k(global const float* x, global float* y, int cols, local float* t) {
  int r = get_group_id(0), l = get_local_id(0), L = get_local_size(0);
  float m = -INFINITY;
  for (int c = l; c < cols; c += L) m = fmax(m, x[r * cols + c]);
  t[l] = m;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = L / 2; s > 0; s /= 2) {
    if (l < s) t[l] = fmax(t[l], t[l + s]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  m = t[0];
  for (int c = l; c < cols; c += L) y[r * cols + c] = exp(x[r * cols + c] - m);
}""",
    "sparse rows": """kernel void k(global const int* start, global const int* col, global const float* a, global const float* x,
              global float* y, int rows) {
  int r = get_global_id(0);
  if (r >= rows) return;
  float s = 0;
  for (int j = start[r]; j < start[r + 1]; j++) s += a[j] * x[col[j]];
  y[r] = s;
}""",
    "a pitch in bytes": """kernel void k(global const uchar* in, global uchar* out, int width, int height, int pitch) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  global const float* row = (global const float*)(in + y * pitch);
  ((global float*)(out + y * pitch))[x] = 2 * row[x];
}""",
    "bodies": """kernel void k(global const float4* p, global float4* a, local float4* t, int n) {
  int i = get_global_id(0), l = get_local_id(0), L = get_local_size(0);
  float4 s = 0;
  for (int b = 0; b < n; b += L) {
    t[l] = b + l < n ? p[b + l] : (float4)(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < L; j++) s += t[j] - (i < n ? p[i] : (float4)(0));
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) a[i] = s;
}""",
    "a picture": """kernel void k(global uchar4* out, int width, int height, float scale, int steps) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  float2 z = 0, c = (float2)(x, y) * scale / (float2)(width, height);
  int i = 0;
  for (; i < steps && dot(z, z) < 4; i++) z = (float2)(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
  out[y * width + x] = (uchar4)(i, i, i, 255);
}""",
    "life on a torus": """kernel void k(global const uchar* a, global uchar* b, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1), n = 0;
  if (x >= w || y >= h) return;
  for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) n += a[(y + j + h) % h * w + (x + i + w) % w];
  b[y * w + x] = n == 3;
}""",
    "sums of groups added": """kernel void k(global int* out, global const int* sums, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] += sums[get_group_id(0)];
}""",
    "batches of products": """kernel void k(global const float* a, global const float* b, global float* c, int M, int N, int K) {
  int n = get_global_id(0), m = get_global_id(1), z = get_global_id(2);
  if (n >= N || m >= M) return;
  float s = 0;
  for (int i = 0; i < K; i++) s += a[(z * M + m) * K + i] * b[(z * K + i) * N + n];
  c[(z * M + m) * N + n] = s;
}""",
    "twice as large": """kernel void k(global const float* x, global float* y, int w, int h) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c >= 2 * w || r >= 2 * h) return;
  y[r * 2 * w + c] = x[r / 2 * w + c / 2];
}""",
    "convolution with padding": """kernel void k(global const float* x, global const float* f, global float* y,
              int C, int H, int W, int R) {
  int w = get_global_id(0), h = get_global_id(1), o = get_global_id(2);
  if (w >= W || h >= H) return;
  float s = 0;
  for (int c = 0; c < C; c++) for (int i = 0; i < R; i++) for (int j = 0; j < R; j++) {
    int a = h + i - R / 2, b = w + j - R / 2;
    if (a >= 0 && a < H && b >= 0 && b < W) s += x[(c * H + a) * W + b] * f[((o * C + c) * R + i) * R + j];
  }
  y[(o * H + h) * W + w] = s;
}""",
    "a tile with a halo": """#define T 16
kernel void k(global const float* in, global float* out, int w, int h) {
  local float t[T + 2][T + 2];
  int x = get_global_id(0), y = get_global_id(1);
  for (int j = get_local_id(1); j < T + 2; j += T) for (int i = get_local_id(0); i < T + 2; i += T) {
    int a = clamp((int)get_group_id(0) * T + i - 1, 0, w - 1), b = clamp((int)get_group_id(1) * T + j - 1, 0, h - 1);
    t[j][i] = in[b * w + a];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
  if (x < w && y < h) out[y * w + x] = t[ly][lx - 1] + t[ly][lx + 1] + t[ly - 1][lx] + t[ly + 1][lx];
}""",
    "a linear read": """constant sampler_t s = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
kernel void k(read_only image2d_t a, write_only image2d_t b) {
  int2 p = (int2)(get_global_id(0), get_global_id(1)), d = get_image_dim(b);
  if (p.x < d.x && p.y < d.y) write_imagef(b, p, read_imagef(a, s, (convert_float2(p) + 0.5f) / convert_float2(d)));
}""",
    "grey": """kernel void k(global const uchar* rgb, global uchar* grey, int n) {
  int i = get_global_id(0);
  if (i < n) grey[i] = (rgb[3 * i] + 2 * rgb[3 * i + 1] + rgb[3 * i + 2]) / 4;
}""",
    "reflected borders": """kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  y[i] = x[i == 0 ? 1 : i - 1] + x[i] + x[i == n - 1 ? n - 2 : i + 1];
}""",
    "random numbers": """kernel void k(global uint* state, global float* out, int per_item) {
  int i = get_global_id(0);
  uint s = state[i];
  for (int j = 0; j < per_item; j++) {
    s = s * 1664525u + 1013904223u;
    out[i * per_item + j] = s * 2.3283064e-10f;
  }
  state[i] = s;
}""",
    "largest of a group": """kernel void k(global const float* x, global float* best, global int* where, int n) {
  local float v[64];
  local int at[64];
  int i = get_global_id(0), l = get_local_id(0);
  v[l] = i < n ? x[i] : -INFINITY;
  at[l] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 32; s > 0; s >>= 1) {
    if (l < s && v[l + s] > v[l]) { v[l] = v[l + s]; at[l] = at[l + s]; }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) { best[get_group_id(0)] = v[0]; where[get_group_id(0)] = at[0]; }
}""",
}
