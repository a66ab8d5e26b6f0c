# ruff: noqa: E501 (kernel sources read better unbroken)
"""Bad accesses of every form: reported with place and offset, reads give 0, writes are dropped, nothing crashes."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer, Local, Scalar

from adreno_sim.findings import Kind

READ, WRITE, MISALIGNED = "out-of-bounds-read", "out-of-bounds-write", "misaligned-access"


def floats(count: int) -> np.ndarray:
    return np.arange(1, count + 1, dtype=np.float32)


def test_read_past_the_end_gives_zero_and_is_counted(engine):
    source = "__kernel void k(__global float* a, __global const float* b) {\n  int i = get_global_id(0);\n  a[i] = b[i + 6];\n}"
    result = engine.run(source, "k", [8], [4], [Buffer(np.ones(8, np.float32)), Buffer(floats(8))])
    assert result.outputs[0].tolist() == [7, 8, 0, 0, 0, 0, 0, 0]
    (finding,) = result.findings
    assert (finding.kind, finding.line, finding.count) == (Kind.OUT_OF_BOUNDS_READ, 3, 6)
    assert (finding.access.view, finding.access.offset, finding.access.size, finding.access.extent) == ("b", 32, 4, (32,))
    assert finding.work_item.global_id == (2, 0, 0)
    assert finding.work_item.group_id == (0, 0, 0)


def test_write_before_the_start_is_dropped(engine):
    source = "__kernel void k(__global int* a) { int i = get_global_id(0); a[i - 2] = i; }"
    result = engine.run(source, "k", [4], [1], [Buffer(np.full(4, 9, np.int32))])
    assert result.outputs[0].tolist() == [2, 3, 9, 9]
    (finding,) = result.findings
    assert (finding.kind, finding.access.offset, finding.count) == (Kind.OUT_OF_BOUNDS_WRITE, -8, 2)


@pytest.mark.parametrize("index", ["1ul << 62", "-1L", "0x4000000000000000L", "1L << 32"])
def test_offsets_that_wrap_around_are_caught(engine, index):
    source = f"__kernel void k(__global float* a, long n) {{ a[0] = 1; a[n + ({index})] = 2; }}"
    result = engine.run(source, "k", [1], [1], [Buffer(np.zeros(4, np.float32)), Scalar(np.int64(0))])
    if index in ("1ul << 62", "0x4000000000000000L"):  # times four bytes is 2^64: exactly the start again
        assert result.outputs[0][0] == 2
        assert not result.findings
    else:
        assert result.kinds() == [WRITE]
        assert result.outputs[0].tolist() == [1, 0, 0, 0]


def test_partly_outside_counts_as_outside(engine):
    source = "__kernel void k(__global float* a, __global float4* b) { b[0] = vload4(0, a + 1); vstore4((float4)(5), 0, a + 2); }"
    result = engine.run(source, "k", [1], [1], [Buffer(floats(4)), Buffer(np.ones(4, np.float32))])
    assert sorted(result.kinds()) == [READ, WRITE]
    assert result.outputs[1].tolist() == [0] * 4
    assert result.outputs[0].tolist() == [1, 2, 3, 4]


def test_empty_and_tiny_buffers(engine):
    source = "__kernel void k(__global float4* a, __global int* out) { out[0] = (int)a[0].x; a[0] = (float4)(1); }"
    result = engine.run(source, "k", [1], [1], [Buffer(np.zeros(3, np.float32)), Buffer(np.ones(1, np.int32))])
    assert sorted(result.kinds()) == [READ, WRITE]
    assert result.outputs[1][0] == 0
    assert not result.outputs[0].any()


def test_local_and_private_arrays(engine):
    source = """__kernel void k(__global int* out, __local int* arg, int n) {
      __local int own[4]; int mine[4] = {1, 2, 3, 4};
      own[n] = 1; arg[n] = 2; mine[n] = 3;
      out[0] = own[n] + arg[n] + mine[n];
      out[1] = own[2] * 0 + mine[2];
    }"""
    result = engine.run(source, "k", [1], [1], [Buffer(np.full(2, 9, np.int32)), Local(16), Scalar(np.int32(4))])
    assert sorted(result.kinds()) == [READ] * 3 + [WRITE] * 3
    assert result.outputs[0].tolist() == [0, 3]
    assert {f.access.view.split(".")[-1] for f in result.findings} == {"own", "arg", "mine"}


def test_constant_index_outside_a_private_array_is_found(engine):
    source = "__kernel void k(__global int* out) { int a[4] = {1, 2, 3, 4}; out[0] = a[5]; out[1] = a[3]; }"
    result = engine.run(source, "k", [1], [1], [Buffer(np.full(2, 9, np.int32))])
    assert result.kinds() == [READ]
    assert result.outputs[0].tolist() == [0, 4]


def test_program_scope_constants(engine):
    source = """__constant float table[3] = {1.5f, 2.5f, 3.5f};
    __kernel void k(__global float* out) { int i = get_global_id(0); out[i] = table[i]; }"""
    result = engine.run(source, "k", [4], [4], [Buffer(np.ones(4, np.float32))])
    assert result.outputs[0].tolist() == [1.5, 2.5, 3.5, 0]
    assert result.kinds() == [READ]
    assert result.findings[0].access.view == "table"


def test_pointer_chosen_at_run_time_keeps_its_object(engine):
    source = """__kernel void k(__global int* a, __global int* b, __global int* out) {
      int i = get_global_id(0);
      __global int* p = (i & 1) ? a : b;
      for (int j = 0; j < 3; j++) { out[i * 3 + j] = *p; p += 1; }
    }"""
    a, b = np.array([1, 2], np.int32), np.array([10, 20, 30], np.int32)
    result = engine.run(source, "k", [2], [2], [Buffer(a), Buffer(b), Buffer(np.full(6, 9, np.int32))])
    assert result.outputs[2].tolist() == [10, 20, 30, 1, 2, 0]
    assert result.kinds() == [READ]
    assert result.findings[0].access.view == "a"


def test_pointers_kept_in_memory_are_looked_up(engine):
    source = """__kernel void k(__global int* a, __global int* b, __global int* out, int n) {
      __global int* table[2]; table[0] = a; table[1] = b + 1;
      out[0] = table[n][0]; out[1] = table[n][5];
      __private int mine[2] = {7, 8}; __private int* q[1]; q[0] = mine; out[2] = q[0][n];
    }"""
    args = [Buffer(np.arange(4, dtype=np.int32)), Buffer(np.arange(10, 14, dtype=np.int32)), Buffer(np.full(3, 9, np.int32))]
    result = engine.run(source, "k", [1], [1], [*args, Scalar(np.int32(1))])
    assert result.outputs[2].tolist() == [11, 0, 8]
    assert result.kinds() == [READ]
    assert result.findings[0].access.view == "b"


def test_null_pointer(engine):
    source = "__kernel void k(__global int* a, int n) { __global int* p = n ? a : (__global int*)0; p[0] = 5; a[1] = p[0]; }"
    result = engine.run(source, "k", [1], [1], [Buffer(np.full(2, 9, np.int32)), Scalar(np.int32(0))])
    assert result.outputs[0].tolist() == [9, 0]
    assert sorted(result.kinds()) == [READ, WRITE]


def test_misaligned_vector_access_reports_and_still_moves_the_bytes(engine):
    source = "__kernel void k(__global float* a, int n) { *(__global float4*)(a + n) = (float4)(1, 2, 3, 4); }"
    result = engine.run(source, "k", [1], [1], [Buffer(np.zeros(8, np.float32)), Scalar(np.int32(1))])
    assert result.kinds() == [MISALIGNED]
    assert result.outputs[0].tolist() == [0, 1, 2, 3, 4, 0, 0, 0]
    assert not engine.run(source, "k", [1], [1], [Buffer(np.zeros(8, np.float32)), Scalar(np.int32(4))]).findings


def test_misaligned_atomic_is_dropped(engine):
    source = "__kernel void k(__global char* a, int n) { atomic_add((volatile __global int*)(a + n), 1); }"
    result = engine.run(source, "k", [1], [1], [Buffer(np.zeros(8, np.uint8)), Scalar(np.int32(2))])
    assert result.kinds() == [MISALIGNED]
    assert not result.outputs[0].any()


def test_struct_argument_and_struct_buffers(engine):
    source = """typedef struct { float a; int b; uchar c; } S;
    __kernel void k(__global S* s, S one) { int i = get_global_id(0); S t = s[i]; t.a += one.a; t.b *= one.b; t.c = one.c; s[i] = t; }"""
    dtype = np.dtype([("a", "f4"), ("b", "i4"), ("c", "u1")], align=True)
    array = np.zeros(3, dtype)
    array["a"], array["b"] = [1, 2, 3], [4, 5, 6]
    one = np.zeros((), dtype)
    one["a"], one["b"], one["c"] = 0.5, 2, 7
    result = engine.run(source, "k", [4], [2], [Buffer(array), Scalar(one)])
    after = result.outputs[0]
    assert after["a"].tolist() == [1.5, 2.5, 3.5]
    assert after["b"].tolist() == [8, 10, 12]
    assert after["c"].tolist() == [7] * 3
    assert set(result.kinds()) == {READ, WRITE}


def test_uninitialised_private_memory_reads_as_zero_every_time(engine):
    source = """__kernel void k(__global int* out, int n) {
      int a[8]; int i = get_global_id(0);
      for (int j = 0; j < i; j++) a[j] = 100 + i;
      out[i] = a[n];
    }"""
    result = engine.run(source, "k", [4], [4], [Buffer(np.ones(4, np.int32)), Scalar(np.int32(1))])
    assert result.outputs[0].tolist() == [0, 0, 102, 103]


def test_large_private_arrays_leave_the_stack(engine):
    source = """__kernel void k(__global int* out, int n) {
      int a[16384]; int i = get_global_id(0);
      for (int j = 0; j < 16384; j++) a[j] = j * i;
      out[i] = a[n] + a[16383];
    }"""
    result = engine.run(source, "k", [4], [2], [Buffer(np.ones(4, np.int32)), Scalar(np.int32(5))])
    assert result.outputs[0].tolist() == [i * (5 + 16383) for i in range(4)]


def test_level_off_still_computes_the_same(engine):
    source = "__kernel void k(__global float* a, __global const float* b) { int i = get_global_id(0); a[i] = b[i] * 2; }"
    result = engine.run(source, "k", [8], [4], [Buffer(np.zeros(8, np.float32)), Buffer(floats(8))], checks="off")
    assert result.outputs[0].tolist() == (floats(8) * 2).tolist()
