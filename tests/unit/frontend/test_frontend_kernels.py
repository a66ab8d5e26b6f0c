"""What becomes of each construct of OpenCL C: the kernel IR of small kernels."""

from __future__ import annotations

import pytest
from kernel_ir import HALF, TARGET, calls, instrs, kernel, module, ops

from adreno_sim.base.errors import UnsupportedError
from adreno_sim.frontend.passes import inline
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.ir import ir
from adreno_sim.ir.ir import UNDEF, Array, Const, Float, Instr, Int, Struct, Vector


def test_parameters() -> None:
    function = kernel("""
      typedef struct { int n; float4 v; } Shape;
      __kernel __attribute__((reqd_work_group_size(8, 4, 1)))
      void k(__global const float4 *restrict a, __local int *l, __constant volatile uchar *c, read_only image2d_array_t image,
             sampler_t s, Shape shape, half3 h, ulong n) {}""")
    spelled = [(param.name, str(param.type), param.spelled, param.access, param.qualifiers) for param in function.params]
    assert spelled == [
        ("a", "ptr addrspace(1)", "float4*", "none", ("restrict", "const")),
        ("l", "ptr addrspace(3)", "int*", "none", ()),
        ("c", "ptr addrspace(2)", "uchar*", "none", ("const", "volatile")),
        ("image", "read_only image2d_array_t", "image2d_array_t", "read_only", ()),
        ("s", "sampler_t", "sampler_t", "none", ()),
        ("shape", "{ i32, <4 x float> }", "Shape", "none", ()),
        ("h", "<3 x half>", "half3", "none", ()),
        ("n", "i64", "ulong", "none", ()),
    ]
    assert function.required_work_group_size == (8, 4, 1)
    assert function.is_kernel
    assert function.loc.line == 4


def test_a_struct_argument_is_stored_to_private_memory() -> None:
    function = kernel("typedef struct { int a; char b; } S; __kernel void k(__global int *o, S s) { o[0] = s.b; }")
    store = instrs(function, "store")[0]
    assert store.operands[0] is function.params[1]
    assert store.operands[1].elem == Struct((Int(32), Int(8)))


def test_places_and_inlined_places() -> None:
    function = kernel("""float deep(__global float *p) {
      return p[1] *
             2; }
    float mid(__global float *p) { return deep(p); }
    __kernel void k(__global float *p) {
      p[0] =
        mid(p);
    }""")
    load, product, store = instrs(function, "load")[0], instrs(function, "fmul")[0], instrs(function, "store")[0]
    assert (load.loc.line, load.loc.column, load.loc.callers) == (2, 14, (4, 7))
    assert (product.loc.line, product.loc.callers) == (2, (4, 7))
    assert (store.loc.line, store.loc.callers, store.loc.file) == (6, (), "")


def test_counted_loop_over_a_private_array() -> None:
    function = kernel("""__kernel void k(__global float *o, int n) {
      float acc[4];
      for (int i = 0; i < 4; ++i) acc[i] = i * o[i];
      o[0] = acc[n];
    }""")
    (phi,) = instrs(function, "phi")
    start, step = phi.operands
    assert phi.name == "i"
    assert isinstance(start, Const)
    assert start.value == 0
    assert isinstance(step, Instr)
    assert step.op == "add"
    (array,) = instrs(function, "alloca")
    assert (array.name, array.elem) == ("acc", Array(Float(32), 4))
    assert array in function.blocks[0].instrs
    indices = [gep.operands[2] for gep in instrs(function, "gep") if gep.operands[0] is array]
    assert [index.op for index in indices if isinstance(index, Instr)] == ["sext", "sext"]


def test_an_uninitialised_variable_stays_undefined_on_its_path() -> None:
    function = kernel("""__kernel void k(__global int *o, int n) {
      int u;
      if (n == 3) u = 4;
      o[0] = u;
      int v;
      if (v) o[1] = v;
    }""")
    (phi,) = instrs(function, "phi")
    assert {arm.value for arm in phi.operands if isinstance(arm, Const)} == {4, UNDEF}
    compared = instrs(function, "icmp")[-1]
    assert isinstance(compared.operands[0], Const)
    assert compared.operands[0].value is UNDEF
    assert ops(function)["condbr"] == 2
    assert ops(function)["store"] == 2


def test_no_access_out_of_range_is_folded_away() -> None:
    source = """__constant uchar zeros[4] = {0};
    __kernel void k(__global int *o, int n) {
      int a[3]; int4 v; int s;
      a[5] = n; o[0] = a[5]; o[1] = ((int *)&v)[7]; o[2] = (&s)[2]; o[3] = zeros[n]; o[4] = n / (n - n);
    }"""
    function = kernel(source)
    assert ops(function)["load"] == 4
    assert ops(function)["store"] == 6
    assert ops(function)["sdiv"] == 1
    assert {alloca.name for alloca in instrs(function, "alloca")} == {"a", "v", "s"}


def test_switch_with_fall_through() -> None:
    function = kernel("""__kernel void k(__global int *o, short n, ulong m) {
      switch (n) { case -1: o[0] = 1; case 300: o[1] = 2; break; default: o[2] = 3; }
      switch (m) { case 1UL << 40: o[3] = 1; }
    }""")
    first, second = instrs(function, "switch")
    assert first.cases == (0xFFFFFFFF, 300)
    assert len(first.blocks) == 3
    assert second.cases == (1 << 40,)
    assert first.blocks[1].successors == [first.blocks[2]]


def test_loops_with_two_exits_and_a_jump() -> None:
    function = kernel("""__kernel void k(__global int *o, int n) {
      int i = 0;
      do {
        if (o[i] == 7) goto out;
        while (o[i] > n && i < 9) i++;
      } while (++i < n || o[i]);
      o[1] = i;
    out:
      o[0] = i;
    }""")
    assert ops(function)["store"] == 2
    assert all(instr.op != "alloca" for instr in instrs(function))
    assert sum(len(block.successors) == 2 for block in function.blocks) == 5


def test_logical_operators_branch_and_meet_in_a_phi() -> None:
    function = kernel("__kernel void k(__global int *o, int n) { o[0] = n > 3 && o[n] < 5; }")
    (phi,) = instrs(function, "phi")
    assert phi.type == Int(1)
    assert len(phi.operands) == 2


def test_half_arithmetic() -> None:
    function = kernel(
        HALF
        + """__kernel void k(__global half *h, __global half4 *v) {
      h[0] = h[1] + 1.1h; v[0] = v[1] * (half4)(2.h, 0x1p-3h, 1.5h, 3.h);
      h[2] = (half)vload_half(3, h); vstore_half_rtz(1.f, 4, h);
      v[2] = convert_half4_rte(vload_half4(0, h)); h[3] = fma(h[4], h[5], h[6]);
    }"""
    )
    constant = instrs(function, "fadd")[0].operands[1]
    assert isinstance(constant, Const)
    assert (constant.type, constant.value) == (Float(16), 0x3C66)
    lanes = instrs(function, "fmul")[0].operands[1]
    assert isinstance(lanes, Const)
    assert [lane.value for lane in lanes.value] == [0x4000, 0x3000, 0x3E00, 0x4200]
    assert calls(function) == [
        ("vload_half", "ulong", "__global const half*"),
        ("vstore_half_rtz", "float", "ulong", "__global half*"),
        ("vload_half4", "ulong", "__global const half*"),
        ("convert_half4_rte", "float4"),
        ("fma", "half", "half", "half"),
    ]


def test_contraction_is_marked_inside_one_expression_only() -> None:
    function = kernel("__kernel void k(__global float *o) { float m = o[0] * o[1]; o[2] = m + o[3]; o[4] = o[5] * o[6] + o[7]; }")
    assert calls(function) == [("llvm.fmuladd.f32",)]
    assert ops(function)["fmul"] == ops(function)["fadd"] == 1


def test_wide_and_narrow_integers() -> None:
    function = kernel("""__kernel void k(__global long *a, __global ulong *b, __global ushort *s, __global char4 *c, uint n) {
      a[0] = a[1] / 3 + (long)n; b[0] = b[1] % 7 >> n; s[0] = s[1] * s[2]; c[0] = c[1] + (char4)(1, -2, 3, -4);
      s[3] = add_sat(s[4], s[5]); c[2] = convert_char4_sat_rtz((float4)(n)); a[2] = mul_hi(a[3], a[4]); b[2] = rotate(b[3], 5UL);
    }""")
    count = ops(function)
    assert (count["sdiv"], count["urem"], count["lshr"], count["zext"] + count["sext"]) == (1, 1, 1, 3)
    assert [name for name, *_ in calls(function)] == ["add_sat", "convert_char4_sat_rtz", "mul_hi", "rotate"]
    assert instrs(function, "lshr")[0].type == Int(64)


def test_printf() -> None:
    program = module("""__kernel void k(float x, int n) { printf("%d %f %v4hlf %s\\n", n, x, (float4)(x), "text"); }""")
    (call,) = instrs(program.kernels["k"], "call")
    assert call.callee is not None
    assert call.callee.name == "printf"
    assert len(call.operands) == 5
    fmt = call.operands[0]
    assert isinstance(fmt, ir.Global)
    assert bytes(item.value for item in fmt.initializer.value) == b"%d %f %v4hlf %s\n\0"


def test_as_type_and_conversions() -> None:
    function = kernel("""__kernel void k(__global float4 *f, __global uchar16 *c, __global int *n) {
      c[0] = as_uchar16(f[0]); f[1] = as_float4(c[1]); n[0] = as_int(f[2].x);
      n[1] = (int)f[3].y; n[2] = convert_int_sat(f[4].x); }""")
    assert [str(cast.type) for cast in instrs(function, "bitcast")] == ["<16 x i8>", "<4 x float>", "i32"]
    assert ops(function)["fptosi"] == 1
    assert calls(function) == [("convert_int_sat", "float")]


def test_variable_vector_index() -> None:
    function = kernel("__kernel void k(__global float *o, float4 v, int n) { v[n & 3] = 1; o[0] = v[n]; }")
    insert, extract = instrs(function, "insertelement")[0], instrs(function, "extractelement")[0]
    assert (isinstance(insert.operands[2], Instr) and extract.operands[1] is function.params[2]) or isinstance(
        extract.operands[1], Instr
    )


def test_several_kernels_and_one_that_calls_another() -> None:
    program = module("""
      __kernel void one(__global int *a) { a[0] = 1; }
      __kernel void k(__global int *a) { one(a + 1); one(a + 2); }""")
    assert list(program.kernels) == ["one", "k"]
    assert ops(program.kernels["k"])["store"] == 2
    assert instrs(program.kernels["k"], "store")[0].loc.callers == (3,)


def test_vectors_of_other_lengths() -> None:
    function = kernel("""typedef float float32 __attribute__((ext_vector_type(32)));
    __kernel void k(__global float32 *a) { a[0] = a[1] + a[2]; }""")
    assert instrs(function, "fadd")[0].type == Vector(Float(32), 32)


def test_nothing_of_llvms_licences_survives() -> None:
    """Everything `ir.py` can express is defined; the same source is compiled once."""
    source = "__kernel void k(__global int *o, int n) { for (int i = 0; i < n; i++) o[i] += i * n << 3; }"
    assert module(source) is module(source)
    assert not {"freeze", "unreachable"} & set(ops(kernel(source)))


def nested_calls(depth: int, step: str) -> str:
    helpers = "".join(f"int f{i + 1}(int x) {{ return {step.format(f=f'f{i}')}; }}\n" for i in range(depth))
    return f"int f0(int x) {{ return x * x; }}\n{helpers}__kernel void k(__global int *a) {{ a[0] = f{depth}(a[1]); }}"


def nested_structs(depth: int) -> str:
    types = "".join(f"typedef struct {{ S{i} a; }} S{i + 1};" for i in range(depth))
    return f"typedef struct {{ int a; }} S0;{types}__kernel void k(__global S{depth} *a) {{ S{depth} s = a[0]; a[1] = s; }}"


UNSUPPORTED = {
    "recursion through f at 1:31": """int f(int x) { return x < 2 ? f(x) : f(x - 1); }
      __kernel void k(__global int *a) { a[0] = f(a[1]); }""",
    "recursion through g at 2:29": """int g(int);
      int f(int x) { return g(x); }
      int g(int x) { return x ? f(x) : 1; }
      __kernel void k(__global int *a) { a[0] = g(a[1]); }""",
    "assembly at 2:14": """__kernel void k(__global int *a) {
      __asm__("nop"); }""",
    "assembly at 2:1": """__kernel void k(__global int *a) { }
__asm__(".incbin \\"/etc/passwd\\"");""",
    "type pipe at 1:1": "__kernel void k(read_only pipe int p, __global int *a) {}",
    "image2d_depth_t at 1:1": "__kernel void k(read_only image2d_depth_t p) {}",
    "image2d_msaa_t at 2:1": """#pragma OPENCL EXTENSION cl_khr_gl_msaa_sharing : enable
      __kernel void k(read_only image2d_msaa_t p) {}""",
    "blocks": "__kernel void k(__global int *a) { int (^b)(int) = ^(int x) { return x; }; a[0] = b(1); }",
    "integers of 7 bits at 1:60": "__kernel void k(__global int *a) { unsigned _BitInt(7) x = a[0]; a[1] = x; }",
    "a vector of 65536 x float, which OpenCL C lacks (expected 2, 3, 4, 8, 16 or 32) at 2:104": """
      typedef float v __attribute__((ext_vector_type(65536))); __kernel void k(__global v *a) { a[1] = a[0] + 1.0f; }""",
    "a vector of 5 x i32, which OpenCL C lacks (expected 2, 3, 4, 8, 16 or 32), in the type of t": """
      typedef int v __attribute__((ext_vector_type(5))); __constant v t = {1, 2, 3, 4, 5};
      __kernel void k(__global int *a) { a[0] = t[a[1]]; }""",
    "a vector of 1048576 x i32": """typedef int v __attribute__((vector_size(1 << 22)));
      __kernel void k(__global v *a) { a[1] = a[0] + 2; }""",
    "variable x of 4398046511104 bytes: expected at most 1073741824 at 1:1": """__kernel void k(__global int *a) {
      int x[1ul << 40]; x[a[0]] = 3; a[1] = x[a[2]]; }""",
    "__mulsc3, a function of the compiler's own library": """__kernel void k(__global int *a) {
      _Complex float y = a[0]; a[1] = __real__(y * y); }""",
    "ptrtoint of an address, in the initial value of q": """__constant int t[3] = {1}; __constant long q = (long)&t[1];
      __kernel void k(__global long *a) { a[0] = q; }""",
    "more than 100 calls": nested_calls(150, "{f}(x) + 1"),
    "nested too deeply": nested_structs(2000),
}


@pytest.mark.share()
@pytest.mark.parametrize("message", UNSUPPORTED)
def test_refused_by_name_and_place(message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        module(UNSUPPORTED[message])
    assert str(caught.value).startswith("unsupported: ")
    assert message in str(caught.value)


def test_helpers_that_double_are_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline, "_INSTRUCTION_LIMIT", 2000)
    with pytest.raises(UnsupportedError, match=r"over 2000 instructions in f\d+ once inlined"):
        module(nested_calls(40, "{f}(x) + {f}(x + 1)"))


def test_the_wave_size_that_a_kernel_asks_for() -> None:
    source = """#pragma OPENCL EXTENSION cl_qcom_reqd_sub_group_size : enable
    __attribute__((qcom_reqd_sub_group_size("half"))) __kernel void small(__global int *a) {}
    __kernel __attribute__((reqd_work_group_size(64, 1, 1), qcom_reqd_sub_group_size("full"))) void wide(__global int *a) {}
    __kernel void free(__global int *a) {}"""
    adreno = FrontEndTarget(300, frozenset({"cl_qcom_reqd_sub_group_size"}))
    program = compile_source(source, target=adreno)
    assert [function.required_sub_group_size for function in program.kernels.values()] == ["half", "full", ""]
    assert program.warnings == []
    assert program.globals == {}
    assert len(compile_source(source, target=TARGET).warnings) == 3  # the pragma and the attribute mean nothing to it


def test_vendor_functions_are_declared_where_the_device_has_them() -> None:
    source = """__kernel void k(__global float *f, __global int *i) {
      float32 v = (float32)(f[0]);
      f[0] = qcom_sub_group_shuffle_xor(v.lo.lo.s0, 1u, CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM, 0.f);
      i[0] = qcom_dot8_acc(1u, 2u, i[1]); }"""
    names = {"cl_qcom_extra_vector_types", "cl_qcom_subgroup_shuffle", "cl_qcom_dot_product8"}
    function = compile_source(source, target=FrontEndTarget(300, frozenset(names))).kernels["k"]
    assert calls(function) == [
        ("qcom_sub_group_shuffle_xor", "float", "uint", "uint", "float"), ("qcom_dot8_acc", "uint", "uint", "int"),
    ]  # fmt: skip
