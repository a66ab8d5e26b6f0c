"""Kernels with a mistake that people make, by name, and the kinds that tell it: each is found without a launch file."""

_EDGE = "constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
READ, WRITE, RACE, UNSET = "out-of-bounds-read", "out-of-bounds-write", "data-race", "uninitialized-read"
BARRIER, TEXEL_READ, TEXEL_WRITE = "divergent-barrier", "image-read-out-of-range", "image-write-out-of-range"

WRONG = {
    "one texel too far": ("""kernel void shift(write_only image2d_t y, global const float4 *x) {
  int i = get_global_id(0);
  write_imagef(y, (int2)(i + 1, 0), x[i]);
}""", [TEXEL_WRITE]),
    "a guard with <=": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i <= n) y[i] = x[i];
}""", [READ, WRITE]),
    "an early return with >": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i > n) return;
  y[i] = x[i];
}""", [READ, WRITE]),
    "a number that nothing looks at": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  y[i] = x[i];
}""", [READ, WRITE]),
    "a guard of one axis": ("""kernel void k(global const float* x, global float* y, int w, int h) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c < w && r <= h) y[r * w + c] = x[r * w + c];
}""", [READ, WRITE]),
    "a guard behind the read": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  float v = x[i];
  if (i < n) y[i] = v;
}""", [READ]),
    "the next element": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[i + 1] - x[i];
}""", [READ]),
    "the element before": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[i] - x[i - 1];
}""", [READ]),
    "a stencil without borders": ("""kernel void k(global const float* x, global float* y, int w, int h) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c >= w || r >= h) return;
  y[r * w + c] = x[(r - 1) * w + c] + x[(r + 1) * w + c] + x[r * w + c - 1] + x[r * w + c + 1];
}""", [READ]),
    "a clamp to the size": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[clamp(i + 1, 0, n)];
}""", [READ]),
    "a copy of an image with <=": ("""kernel void k(read_only image2d_t a, write_only image2d_t b, sampler_t s) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x <= get_image_width(b) && y < get_image_height(b)) write_imagef(b, (int2)(x, y), read_imagef(a, s, (int2)(x, y)));
}""", [TEXEL_WRITE]),
    "a read without an addressing mode": (_EDGE + """kernel void k(read_only image2d_t a, write_only image2d_t b) {
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(b, p, read_imagef(a, s, p - 1));
}""", [TEXEL_READ]),
    "width and height exchanged": ("""kernel void k(read_only image2d_t a, write_only image2d_t b, sampler_t s, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= h || y >= w) return;
  write_imagef(b, (int2)(y + 1, x), read_imagef(a, s, (int2)(y, x)));
}""", [TEXEL_WRITE]),
    "a reduction without a barrier": ("""kernel void k(global const float* x, global float* y, local float* t) {
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = get_local_size(0) / 2; s > 0; s /= 2)
    if (l < s) t[l] += t[l + s];
  if (l == 0) y[get_group_id(0)] = t[0];
}""", [RACE]),
    "a tile without a barrier": ("""kernel void k(global const float* x, global float* y) {
  local float t[64];
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  y[get_global_id(0)] = t[63 - l];
}""", [RACE, UNSET]),
    "a barrier for global memory alone": ("""kernel void k(global const float* x, global float* y) {
  local float t[64];
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_GLOBAL_MEM_FENCE);
  y[get_global_id(0)] = t[63 - l];
}""", [RACE]),
    "a barrier behind a return": ("""kernel void k(global const float* x, global float* y, int n) {
  local float t[64];
  int i = get_global_id(0);
  if (i >= n) return;
  t[get_local_id(0)] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = t[get_local_id(0)];
}""", [BARRIER]),
    "a barrier in a branch": ("""kernel void k(global float* x) {
  local float t[64];
  int l = get_local_id(0);
  if (l < 32) {
    t[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t[31 - l];
  }
}""", [BARRIER]),
    "a histogram without atomics": ("""kernel void k(global const uchar* data, global int* bins, int n) {
  int i = get_global_id(0);
  if (i < n) bins[data[i]]++;
}""", [RACE]),
    "a sum of all in one place": ("""kernel void k(global const float* x, global float* sum, int n) {
  int i = get_global_id(0);
  if (i < n) sum[0] += x[i];
}""", [RACE]),
    "neighbours in place": ("""kernel void k(global float* x, int n) {
  int i = get_global_id(0);
  if (i > 0 && i < n - 1) x[i] = (x[i - 1] + x[i + 1]) / 2;
}""", [RACE]),
    "a variable that is not set": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  float sum;
  for (int j = 0; j < 4; j++) sum += x[i];
  if (i < n) y[i] = sum;
}""", [UNSET]),
    "an accumulator set in a branch": ("""kernel void k(global const float* x, global float* y) {
  int i = get_global_id(0);
  float v;
  if (x[i] > 0) v = x[i];
  y[i] = v;
}""", [UNSET]),
    "local memory that is not set": ("""kernel void k(global const float* x, global float* y) {
  local float t[64];
  int l = get_local_id(0);
  if (l > 0) t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = t[l];
}""", [UNSET]),
    "one more than local memory has": ("""kernel void k(global const float* x, global float* y) {
  local float t[64];
  int l = get_local_id(0);
  t[l + 1] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = t[l + 1];
}""", [WRITE]),
    "one more than a local argument has": ("""kernel void k(global const float* x, global float* y, local float* t) {
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = t[l] + t[l + 1];
}""", [READ]),
    "a private array that is too small": ("""kernel void k(global const float* x, global float* y) {
  float t[4];
  for (int j = 0; j <= 4; j++) t[j] = x[get_global_id(0)];
  y[get_global_id(0)] = t[0];
}""", [WRITE]),
    "a transposition with one stride": ("""kernel void k(global const float* x, global float* y, int rows, int cols) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c < cols && r < rows) y[c * cols + r] = x[r * cols + c];
}""", [WRITE, RACE]),
    "a transposition without a barrier": ("""kernel void k(global const float* x, global float* y, int w, int h) {
  local float t[16][16];
  int c = get_global_id(0), r = get_global_id(1), lc = get_local_id(0), lr = get_local_id(1);
  t[lr][lc] = x[r * w + c];
  y[(get_group_id(0) * 16 + lr) * h + get_group_id(1) * 16 + lc] = t[lc][lr];
}""", [RACE, UNSET]),
    "a product with the wrong row": ("""kernel void k(global const float* A, global const float* B, global float* C,
              int M, int N, int K) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c >= N || r >= M) return;
  float s = 0;
  for (int i = 0; i <= K; i++) s += A[r * K + i] * B[i * N + c];
  C[r * N + c] = s;
}""", [READ]),
    "a product without the second barrier": ("""kernel void k(global const float* A, global const float* B, global float* C,
              int N, int K) {
  local float a[16][16], b[16][16];
  int lx = get_local_id(0), ly = get_local_id(1), col = get_global_id(0), row = get_global_id(1);
  float s = 0;
  for (int t = 0; t < K / 16; t++) {
    a[ly][lx] = A[row * K + t * 16 + lx];
    b[ly][lx] = B[(t * 16 + ly) * N + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) s += a[ly][k] * b[k][lx];
  }
  C[row * N + col] = s;
}""", [RACE]),
    "vload4 at an index of elements": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n) vstore4(vload4(i, x), 0, y + i);
}""", [RACE, READ, WRITE]),
    "a cast to a vector that is not aligned": ("""kernel void k(global const float* x, global float* y) {
  int i = get_global_id(0);
  y[i] = (*(global const float4*)(x + i)).x;
}""", ["misaligned-access"]),
    "an index of bytes": ("""kernel void k(global const float* x, global float* y) {
  int i = get_global_id(0);
  ((global char*)y)[4 * i + 4] = 1;
  y[i] = x[i];
}""", [WRITE, RACE]),
    "a struct's last field": ("""typedef struct { float v[3]; int id; } P;
kernel void k(global P* p, int n) {
  int i = get_global_id(0);
  if (i < n) { float s = 0; for (int j = 0; j < 4; j++) s += p[i].v[j]; p[i].v[0] = s; }
}""", ["sub-object-overrun"]),
    "a division by a count that is zero": ("""kernel void k(global const int* x, global int* y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[i] / i;
}""", ["division-by-zero"]),
    "a loop that does not end": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  while (i < n) y[i] = x[i];
}""", ["watchdog"]),
    "sums of groups at the item's place": ("""kernel void k(global const float* x, global float* y, local float* t) {
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) { float s = 0; for (int j = 0; j <= get_local_size(0); j++) s += t[j]; y[get_group_id(0)] = s; }
}""", [READ]),
    "an async copy that nobody waits for": ("""kernel void k(global const float* x, global float* y) {
  local float t[64];
  async_work_group_copy(t, x + get_group_id(0) * 64, 64, 0);
  y[get_global_id(0)] = t[get_local_id(0)];
}""", [RACE, UNSET]),
    "three axes with one wrong": ("""kernel void k(global const float* x, global float* y, int w, int h, int d) {
  int a = get_global_id(0), b = get_global_id(1), c = get_global_id(2);
  if (a >= w || b >= h || c > d) return;
  y[(c * h + b) * w + a] = x[(c * h + b) * w + a];
}""", [READ, WRITE]),
    "a float image written as integers": ("""kernel void k(write_only image2d_t a, global const float4* x) {
  int i = get_global_id(0);
  write_imagef(a, (int2)(i, 0), x[i]);
  write_imagei(a, (int2)(i, 0), (int4)(1));
}""", ["format-mismatch", "format-reinterpreted", "store-overwritten"]),
    "a texel that is stored four times": ("""kernel void k(global const float* x, write_only image2d_t y) {
  int i = get_global_id(0);
  for (int c = 0; c < 4; c++) write_imagef(y, (int2)(i, 0), (float4)(x[4 * i + c]));
}""", ["store-overwritten"]),
    "an unsigned loop down to zero": ("""kernel void k(global const float* x, global float* y, uint n) {
  uint i = get_global_id(0);
  if (i < n) { float s = 0; for (uint j = i + 1; j-- > 0;) s += x[j - 1]; y[i] = s; }
}""", [READ]),
    "half of an index": ("""kernel void k(global const float* x, global float* y, int n) {
  int i = get_global_id(0);
  if (i < n / 2) y[i] = x[2 * i] + x[2 * i + 2];
}""", [READ]),
}  # fmt: skip
