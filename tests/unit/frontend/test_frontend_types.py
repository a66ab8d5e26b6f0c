"""What becomes of vectors, structs, arrays, images, atomics and barriers in kernel IR."""

from __future__ import annotations

from kernel_ir import HALF, calls, instrs, kernel, module, ops

from adreno_sim.ir import ir
from adreno_sim.ir.ir import Array, Const, Event, Float, GlobalOffset, Image, Instr, Int, Pointer, Sampler, Struct, Vector


def test_swizzles_are_shuffles() -> None:
    function = kernel("""__kernel void k(__global float4 *v, __global float16 *w) {
      float4 x = v[0]; x.zw = v[1].yx; v[2] = x.wzyx; w[0].odd = w[1].even; v[3] = (float4)(x.xy, x.s3, 1.f);
    }""")
    masks = [instr.mask for instr in instrs(function, "shufflevector")]
    assert (3, 2, 1, 0) in masks
    assert (1, 0) in masks
    assert tuple(range(0, 16, 2)) in masks


def test_three_component_vectors_move_three_components() -> None:
    function = kernel("""__kernel void k(__global float3 *v, __global float4 *w, __local uchar3 *c) {
      v[1] = v[0] * 2.f; c[0] = c[1]; v[2] = w[0].xyz; }""")
    loaded = [str(instr.type) for instr in instrs(function, "load")]
    stored = [str(ir.type_of(instr.operands[0])) for instr in instrs(function, "store")]
    assert loaded == ["<3 x float>", "<3 x i8>", "<4 x float>"]
    assert stored == ["<3 x float>", "<3 x i8>", "<3 x float>"]


def test_structs_and_packed_structs() -> None:
    function = kernel("""
      typedef struct __attribute__((packed)) { uchar tag; float v; ushort h[3]; } P;
      typedef struct { float4 a; struct { short s; char c; } in; } Q;
      __kernel void k(__global P *p, __global Q *q, int i) { p[i].v = p[0].h[i]; q[1] = q[0]; q[2].in.c = 3; p[3] = p[4]; }""")
    packed = Struct((Int(8), Float(32), Array(Int(16), 3)), packed=True)
    assert instrs(function, "gep")[0].elem == packed
    store = instrs(function, "store")[0]
    assert (store.align, ir.type_of(store.operands[0])) == (1, Float(32))
    lengths = [copy.operands[2].value for copy in instrs(function, "memcpy") if isinstance(copy.operands[2], Const)]
    assert lengths == [32, 11]


def test_unions_and_pointer_casts_reinterpret_bytes() -> None:
    function = kernel("""
      typedef union { float f; uint u; uchar4 c; } U;
      __kernel void k(__global float *o, __global uint *in) {
        U u; u.u = in[0]; o[0] = u.f; o[1] = u.c.z; float f = 2.5f; in[1] = *(uint *)&f;
        *(__global float4 *)(o + 4) = vload4(1, (__global float *)in); }""")
    (union,) = instrs(function, "alloca")
    assert union.name == "u"
    (cast,) = instrs(function, "bitcast")
    assert cast.type == Int(32)
    assert isinstance(cast.operands[0], Const)
    wide = next(store for store in instrs(function, "store") if ir.type_of(store.operands[0]) == Vector(Float(32), 4))
    assert wide.align == 16


def test_constant_tables() -> None:
    program = module("""
      __constant float table[2][3] = {{1, 2, 3}, {-0.5f}};
      __constant struct { char tag; int4 v; } one = {7, (int4)(1, 2, 3, 4)};
      __constant char text[] = "a\\0\\xff";
      __constant float *__constant where[2] = {&table[1][2], table[0]};
      __kernel void k(__global float *o, int n) {
        static __constant short inner[2] = {1, -1};
        o[0] = table[n][1] + one.v.y + text[n] + where[n][1] + inner[n]; }""")
    table, one = program.globals["table"], program.globals["one"]
    assert (table.space, table.type, table.align) == (ir.CONSTANT, Array(Array(Float(32), 3), 2), 4)
    assert [item.value for item in table.initializer.value[1].value] == [0xBF000000, 0, 0]
    assert isinstance(one.type, Struct)
    assert one.initializer.value[0].value == 7
    assert [item.value for item in program.globals["text"].initializer.value] == [97, 0, 255, 0]
    assert [item.value for item in program.globals["where"].initializer.value] == [
        GlobalOffset(table, 20),
        GlobalOffset(table, 0),
    ]
    assert program.globals["k.inner"].space == ir.CONSTANT


def test_local_arrays_and_barriers() -> None:
    program = module("""__kernel void k(__global float *o, __local float *dynamic) {
      __local float tile[16][16]; __local int flag;
      int x = get_local_id(0);
      tile[x][1] = o[x]; flag = 1;
      barrier(CLK_LOCAL_MEM_FENCE);
      work_group_barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, memory_scope_device);
      o[x] = tile[1][x] + dynamic[x] + flag; }""")
    tile = program.globals["k.tile"]
    assert (tile.space, tile.type, tile.initializer) == (ir.LOCAL, Array(Array(Float(32), 16), 16), None)
    function = program.kernels["k"]
    barriers = [instr for instr in instrs(function, "call") if instr.callee and "barrier" in instr.callee.name]
    assert [[operand.value for operand in instr.operands if isinstance(operand, Const)] for instr in barriers] == [[1], [3, 2]]


def test_helpers_with_pointers_are_inlined_into_plain_address_spaces() -> None:
    function = kernel("""
      float get(float *p, int i) { return p[i]; }
      void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }
      float walk(float *p, float *q, int n) { float *r = n > 3 ? p : q; float s = 0; while (n--) s += *r++; return s; }
      __kernel void k(__global float *g, __local float *l, int n) {
        int x = n, y = 3; swap(&x, &y);
        g[0] = get(g, x) + get(l, y) + walk(g, g + 8, n) + *to_global((float *)g + 1); }""")
    assert not any(instr.op in ("addrspacecast", "call", "alloca") for instr in instrs(function))
    assert all(instr.type != Pointer(ir.GENERIC) for instr in instrs(function))
    assert {load.operands[0].type.space for load in instrs(function, "load")} == {ir.GLOBAL, ir.LOCAL}


def test_a_pointer_that_may_be_either_stays_generic() -> None:
    function = kernel("""
      float pick(float *p, float *q, int n) { float *r = n ? p : q; return *r; }
      __kernel void k(__global float *g, __local float *l, int n) { g[0] = pick(g, l, n); g[1] = (float *)g == (float *)l; }""")
    assert instrs(function, "load")[0].operands[0].type == Pointer(ir.GENERIC)
    assert ops(function)["addrspacecast"] == 4


def test_images_of_every_kind() -> None:
    kinds = ["image1d", "image1d_buffer", "image1d_array", "image2d", "image2d_array", "image3d"]
    pragma = "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n"
    params = [f"{access} {kind}_t {access}{index}" for access in ("read_only", "write_only", "read_write")
              for index, kind in enumerate(kinds)]  # fmt: skip
    function = kernel(pragma + f"__kernel void k({', '.join(params)}) {{}}")
    accesses = ("read_only", "write_only", "read_write")
    assert [param.type for param in function.params] == [Image(kind, access) for access in accesses for kind in kinds]
    assert [param.access for param in function.params] == [access for access in accesses for _ in kinds]


def test_image_calls_and_samplers() -> None:
    function = kernel(
        HALF
        + """
      __constant sampler_t program_scope = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
      float4 read(read_only image2d_t image, sampler_t s, int2 c) { return read_imagef(image, s, c); }
      __kernel void k(read_only image2d_t a, image2d_array_t b, write_only image2d_t c,
                      read_write image1d_buffer_t d, sampler_t arg) {
        const sampler_t own = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
        float4 v = read(a, own, (int2)(1, 2)) + read_imagef(b, program_scope, (float4)(0.5f)) + read_imagef(a, (int2)(3, 4));
        int2 at = (int2)(get_image_width(a), get_image_array_size(b));
        write_imageh(c, at, convert_half4(v) + read_imageh(a, arg, (int2)(5, 6)));
        write_imagef(d, 7, v);
      }"""
    )
    found = calls(function)
    assert ("read_imagef", "image2d_ro", "sampler", "int2") in found
    assert ("read_imagef", "image2d_ro", "int2") in found
    assert ("read_imagef", "image2d_array_ro", "sampler", "float4") in found
    assert ("write_imagef", "image1d_buffer_rw", "int", "float4") in found
    assert ("write_imageh", "image2d_wo", "int2", "half4") in found
    assert ("get_image_array_size", "image2d_array_ro") in found
    samplers = [instr for instr in instrs(function, "call") if instr.type == Sampler()]
    assert sorted(sampler.operands[0].value for sampler in samplers) == [4 | 16, 1 | 6 | 32]
    reads = [instr for instr in instrs(function, "call") if instr.callee and instr.callee.name == "read_imagef"]
    assert reads[0].operands[0] is function.params[0]
    assert function.params[1].access == "read_only"


def test_atomics_old_and_new() -> None:
    function = kernel("""__kernel void k(__global int *p, volatile __local uint *l, __global atomic_int *q, __global float *f) {
      atomic_add(p, 1); atomic_cmpxchg(p + 1, 2, 3); atomic_max(l, 5u); atomic_xchg(f, 1.f); atomic_inc(p);
      atomic_fetch_add(q, 7); atomic_store_explicit(q, 1, memory_order_release, memory_scope_device);
      int e = 3; atomic_compare_exchange_strong(q, &e, 5); p[2] = e;
      atomic_work_item_fence(CLK_LOCAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group); }""")
    found = calls(function)
    assert ("atomic_add", "__global volatile int*", "int") in found
    assert ("atomic_max", "__local volatile uint*", "uint") in found
    assert ("atomic_fetch_add", "__global volatile atomic_int*", "int") in found
    fence = next(instr for instr in instrs(function, "call") if instr.callee and instr.callee.name == "atomic_work_item_fence")
    assert [operand.value for operand in fence.operands if isinstance(operand, Const)] == [1, 4, 1]


def test_sub_groups_and_work_group_collectives() -> None:
    function = kernel("""#pragma OPENCL EXTENSION cl_khr_subgroups : enable
    __kernel void k(__global int *a, __global float *f) {
      int i = get_global_id(0);
      a[i] = sub_group_reduce_add(a[i]) + get_sub_group_local_id() + get_max_sub_group_size()
           + sub_group_scan_exclusive_max(a[i]);
      f[i] = sub_group_broadcast(f[i], 3) + work_group_reduce_min(f[i]) + work_group_broadcast(f[i], 1, 2);
      if (sub_group_any(a[i])) sub_group_barrier(CLK_LOCAL_MEM_FENCE); }""")
    found = calls(function)
    for call in [("sub_group_reduce_add", "int"), ("sub_group_broadcast", "float", "uint"), ("get_max_sub_group_size",),
                 ("work_group_broadcast", "float", "ulong", "ulong"), ("sub_group_barrier", "uint")]:  # fmt: skip
        assert call in found


def test_asynchronous_copies() -> None:
    function = kernel("""__kernel void k(__global float4 *g, __local float4 *l) {
      event_t e = async_work_group_copy(l, g, 64, 0);
      e = async_work_group_strided_copy(l + 64, g, 16, 2, e);
      wait_group_events(1, &e); prefetch(g, 12); }""")
    first, second = (instr for instr in instrs(function, "call") if instr.type == Event())
    assert isinstance(first.operands[3], Const)
    assert first.operands[3].value is None
    assert isinstance(second.operands[4], Instr)
    assert second.operands[4].op == "load"
    assert [str(alloca.elem) for alloca in instrs(function, "alloca")] == ["event_t"]
