# ruff: noqa: E501 (kernel sources read better unbroken)
"""The language at large beside another implementation: helpers, structs, unions, switches, swizzles, small types, generic pointers."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer, Local, Scalar

PROGRAMS = {
    "structs and unions": """
      typedef struct { float4 p; short s[3]; uchar c; } Item;
      typedef union { float f; uint u; uchar b[4]; } Word;
      __constant Item table[2] = {{(float4)(1, 2, 3, 4), {5, 6, 7}, 8}, {(float4)(9, 8, 7, 6), {5, 4, 3}, 2}};
      float total(const Item* i) { return i->p.x + i->p.w + i->s[1] + i->c; }
      __kernel void k(__global const int* a, __global int* r) {
        size_t g = get_global_id(0); int n = a[g] & 1; Item mine = table[n]; mine.s[n] += a[g] & 7; mine.p.yz = mine.p.zy;
        Word w; w.f = total(&mine) + mine.p.y; w.b[0] ^= (uchar)a[g];
        r[g] = (int)w.u + table[(n + 1) & 1].s[2]; }""",
    "switch and loops": """
      int weigh(int x, int* steps) { int s = 0; while (x != 1 && *steps < 50) { x = (x & 1) ? 3 * x + 1 : x / 2; if (x > 10000) break; ++*steps; if (x % 5 == 0) continue; s += x; } return s; }
      __kernel void k(__global const int* a, __global int* r) {
        size_t g = get_global_id(0); int steps = 0, v = weigh((a[g] & 63) + 2, &steps);
        switch (a[g] & 7) { case 0: v += 1; break; case 1: v *= 2; case 2: v -= 7; break; case 5: v ^= steps; break; default: v = -v; }
        do { v += steps; steps -= 3; } while (steps > 0);
        r[g] = v; }""",
    "vectors of small types": """
      __kernel void k(__global const int* a, __global int* r) {
        size_t g = get_global_id(0); int x = a[g];
        char4 c = as_char4(x); uchar4 u = as_uchar4(x); short2 s = as_short2(x); ushort4 w = convert_ushort4(u) * (ushort)257;
        c = c * (char)3 + c.wzyx; c.s02 = c.s20 >> (char2)(1, 2); u = (u > (uchar)100) ? u : (uchar4)(7); s = max(s, (short2)(-5)) - s.yx;
        int3 t = (int3)(x, x >> 3, 5); t.xy += t.yz; t = t * t.zxy; int8 e = (int8)(t, t.x, as_int(c), as_int(u), as_int(s), (int)w.z);
        bool b = any(c < (char4)(0)); int4 m = isless(convert_float4(c), convert_float4(u));
        r[g] = e.s0 ^ e.s1 ^ e.s2 ^ e.s3 ^ e.s4 ^ e.s5 ^ e.s6 ^ e.s7 ^ (b ? 0x5555 : 0) ^ (m.x + 2 * m.y); }""",
    "pointers": """
      void bump(int* p, int n) { for (int i = 0; i < n; ++i) p[i] += i * i; }
      int pick(const int* p, int i) { return p[i & 3]; }
      __kernel void k(__global const int* a, __global int* r, __local int* s) {
        size_t g = get_global_id(0), l = get_local_id(0); int mine[6] = {1, 2, 3, 4, 5, 6};
        s[l] = a[g]; barrier(CLK_LOCAL_MEM_FENCE);
        bump(mine + 1, 5); bump((int*)mine, 2); int* p = (a[g] & 1) ? mine : mine + 2; char* bytes = (char*)p; bytes[1] = 3;
        int* end = p + 4; int sum = 0; for (int* q = p; q != end; ++q) sum += *q;
        __local int* t = s + (l ^ 1); r[g] = sum + *t + pick(mine, a[g]) + (int)(end - p); }""",
    "wide integers": """
      __kernel void k(__global const int* a, __global int* r) {
        size_t g = get_global_id(0); long x = ((long)a[g] << 32) | (uint)a[g]; ulong y = (ulong)x * 0x9e3779b97f4a7c15ul;
        y ^= y >> 29; x = x / ((a[g] & 15) + 1) - x % 77; y = mul_hi(y, (ulong)x) + rotate(y, 17ul) + popcount(y) + clz(y);
        uint z = (uint)(y >> 40); z += mad24((int)(z & 0x3fffffu), 3, (int)g) + hadd(z, 5u) + abs_diff((int)z, a[g]);
        r[g] = (int)(x ^ (long)y) + (int)z; }""",
    "floats": """
      __kernel void k(__global const int* a, __global int* r) {
        size_t g = get_global_id(0); float x = (a[g] % 1000) * 0.37f; float4 v = (float4)(x, -x, x * x, 1.5f); double d = x * 0.1;
        v = clamp(v, -2.0f, 3.0f) + mix(v, v.wzyx, 0.25f) - fmin(v, 0.5f); x = v.x * v.y + length((float2)(3, 4)) + step(0.5f, x) + sign(x) + fabs(v.y) + mad(x, 2.0f, 1.0f);
        int e; float m = frexp(x, &e); float w; float f = fract(x, &w); d += (double)f * 3.0 - floor(d);
        r[g] = as_int(m) ^ e ^ as_int(f) ^ (int)w ^ as_int((float)d) ^ isnormal(x) ^ convert_int_sat_rte(x * 1e6f); }""",
}


@pytest.mark.each_value
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("checks", ["bounds", "off"])
def test_agrees_with_another_implementation(engine, judge, name, checks):
    a = np.random.default_rng(9).integers(-(2**31), 2**31, 256).astype(np.int32)
    a[:8] = [0, 1, -1, 2**31 - 1, -(2**31), 7, 8, 100]
    args: list = [Buffer(a), Buffer(np.zeros(256, np.int32))]
    if "__local int* s" in PROGRAMS[name]:
        args.append(Local(4 * 16))
    ours = engine.run(PROGRAMS[name], "k", [256], [16], args, checks=checks)
    theirs = judge.run(PROGRAMS[name], "-cl-std=CL2.0", "k", [256], [16], args)
    np.testing.assert_array_equal(ours.outputs[1], theirs[1])
    assert not ours.findings


def test_arguments_by_value_of_every_shape(engine):
    source = """typedef struct { char c; double d; float3 v; } S;
    __kernel void k(__global double* r, char c, ushort2 u, long l, float3 f, int16 i, S s, __constant float* table) {
      r[0] = c; r[1] = u.y; r[2] = l; r[3] = f.z; r[4] = i.sf; r[5] = s.d + s.v.y + s.c; r[6] = table[1]; }"""
    struct = np.zeros(
        (), np.dtype({"names": ["c", "d", "v"], "formats": ["i1", "f8", ("f4", 4)], "offsets": [0, 8, 16], "itemsize": 32})
    )
    struct["c"], struct["d"], struct["v"] = -3, 1.25, [1, 2, 3, 0]
    values = [
        np.int8(-5),
        np.array([1, 65535], np.uint16),
        np.int64(2**40),
        np.array([1, 2, 3], np.float32),
        np.arange(16, dtype=np.int32),
        struct,
    ]
    args = [Buffer(np.zeros(7)), *map(Scalar, values), Buffer(np.array([0.5, 0.75], np.float32))]
    result = engine.run(source, "k", [1], [1], args)
    assert result.outputs[0].tolist() == [-5, 65535, 2**40, 3, 15, 0.25, 0.75]
    assert not result.findings
