"""Vectors of work-items give what the code of one gives: where lanes part, on narrower processors, and what falls back."""

from __future__ import annotations

import re

import numpy as np
import pytest
from oracle import Buffer, Image, Local, Scalar
from processors import SMALLER

from adreno_sim.engine import codegen
from adreno_sim.engine.abi.specialization import BufferArg, Proofs, ScalarArg, Specialization
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import compiled_kernel
from adreno_sim.engine.vector import recipes
from adreno_sim.frontend.program import FrontEndTarget, compile_source

HEAD = """__kernel void k(__global const int* a, __global int* r, int n) {
  int x = get_global_id(0), l = get_local_id(0), v = a[x];
"""
BODIES = {
    "early return": "if (x >= n) return; r[x] = v;",
    "nested branches": "if (v & 1) { if (v & 2) r[x] = 1; else r[x] = v * 3; } else if (x < n) r[x] = -v;",
    "trip counts": "int s = 0; for (int i = 0; i < (v & 15); i++) s += a[i + l]; r[x] = s;",
    "break and continue": """int s = 0;
      for (int i = 0; i < 40; i++) { if (i == (v & 31)) break; if (i % 3 == l % 3) continue; s += i * v; } r[x] = s;""",
    "return from a loop": "for (int i = 0; i < 20; i++) { if (a[(x + i) % n] > 40) { r[x] = i; return; } } r[x] = -1;",
    "loop in a loop": """int s = 0;
      for (int i = 0; i < (v & 7); i++) for (int j = i; j < (l & 7); j++) { s += j; if (s > 50) break; } r[x] = s;""",
    "uniform loop in a branch": "if (v & 4) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * v; r[x] = s; }",
    "switch": "switch (v & 7) { case 0: r[x] = 1; break; case 3: v *= 5; case 4: r[x] = v; break; default: r[x] = ~v; }",
    "values behind a loop": """int i = 0, w = v;
      while (w > 1 && i < 50) { w = (w & 1) ? 3 * w + 1 : w / 2; i++; } r[x] = i * 1000 + w;""",
    "last lane stays": "r[n & 3] = v; if (v & 1) r[8 + (n & 3)] = x;",
    "private arrays": "int t[5] = {0}; for (int i = 0; i < 9; i++) t[(v + i) % 5] += i; r[x] = t[l % 5] * 100 + t[2];",
    "short-circuit": "if (x < n && (v & 1) && a[x / 2] > 3 || l == 5) r[x] = 9; else r[x] = a[n - 1];",
}


def arguments(items: int) -> list[object]:
    a = np.random.default_rng(3).integers(0, 64, items).astype(np.int32)
    return [Buffer(a), Buffer(np.zeros(items, np.int32)), Scalar(np.int32(items - 3))]


@pytest.mark.each_value
@pytest.mark.parametrize("local", [(64,), (20,)])
@pytest.mark.parametrize("name", BODIES)
def test_control_flow(engine, name, local):
    items = local[0] * 3
    result = engine.run(HEAD + BODIES[name] + " }", "k", (items,), local, arguments(items), checks="off", threads=1)
    assert result.outputs[1].any()


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("guard", ["", "if (i & 1) ", "if (i < n / 32) "])
def test_vectors_of_neighbours_are_rows(engine, width, guard):
    """vloadN and vstoreN whose index counts the lanes are accesses of whole rows, of all lanes or of some."""
    body = f"size_t i = get_global_id(0); {guard}vstore{width}(vload{width}(i, a) * 3 + n, i, r);"
    source = f"__kernel void k(__global const int* a, __global int* r, int n) {{ {body} }}"
    result = engine.run(source, "k", (64,), (32,), arguments(64 * width), threads=1)
    assert result.outputs[1].any()
    text = module_of_source(source).text
    assert width > 4 or ("gather" not in text and "scatter" not in text)


def module_of(body: str, **key: object) -> codegen.ModuleText:
    return module_of_source(HEAD + body + " }", **key)


def module_of_source(source: str, **key: object) -> codegen.ModuleText:
    made = compile_source(source, "", target=FrontEndTarget())
    args = (BufferArg(), BufferArg(), ScalarArg(4))
    options = {"local_size": (64, 1, 1), "checks": "off", "emitter": "spmd", **key}
    return codegen.emit_module(made.kernels["k"], Specialization(args=args, **options))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("atomic_add(r, v);", "atomic_add()"),
        ('printf("%d", v);', "printf()"),
        ("if (v & 1) barrier(CLK_LOCAL_MEM_FENCE); r[x] = v;", "a barrier in divergent control flow"),
        ("__global const int* p = v & 1 ? a : r; r[x] = *p;", "a pointer whose object is not known when compiling"),
    ],
)
def test_what_does_not_fit_falls_back_and_says_why(body, reason):
    found = module_of(body)
    assert found.lanes == 1
    assert found.reason == reason


def test_vectors_are_used_where_nothing_speaks_against_them():
    assert module_of("r[x] = v;").lanes in widths()
    assert not module_of("r[x] = v;").reason
    assert module_of("r[x] = v;", emitter="scalar").lanes == 1
    assert module_of("r[x] = v;", checks="bounds", deferred_checks=True).lanes > 1
    assert module_of("r[x] = v;", checks="bounds").reason == "code that reports, work-item by work-item"
    assert module_of("r[x] = v;", local_size=(2, 1, 1)).reason == "a group of 2 work-items"


def widths() -> tuple[int, ...]:
    return (8, 16)


MIXED = """__kernel void k(__global const half* h, __global const float4* f, __global float4* r, read_only image2d_t t) {
  int x = get_global_id(0); float4 s = f[x]; float w = vload_half(x, h);
  for (int i = 0; i < (x & 3); i++) s = mad(s, w, read_imagef(t, (int2)((x + i) % 8, i)).wzyx);
  if (s.x > 0) s.yz = sqrt(fabs(s.zy)) + exp(s.x * 0.1f); r[x] = s; }"""


@pytest.mark.parametrize(("cpu", "features"), SMALLER)
def test_the_same_bits_on_smaller_processors(engine, monkeypatch, cpu, features):
    rng = np.random.default_rng(5)
    args = [Buffer(rng.standard_normal(48).astype(np.float16)), Buffer(rng.standard_normal((48, 4)).astype(np.float32))]
    args += [Buffer(np.zeros((48, 4), np.float32)), Image(rng.standard_normal((1, 4, 8, 4)).astype(np.float32))]
    here = engine.run(MIXED, "k", (48,), (24,), args, checks="off").outputs
    monkeypatch.setattr(objects, "_machine", objects.Machine(cpu, features))
    monkeypatch.setattr(compiled_kernel, "_compiled", type(compiled_kernel._compiled)())
    there = engine.run(MIXED, "k", (48,), (24,), args, checks="off").outputs
    for one, other in zip(here, there, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("checks", ["off", "bounds"])
@pytest.mark.parametrize("active", ["true", "i % 3 != 1"])
@pytest.mark.parametrize("type", ["char", "ushort", "half"])
def test_elements_of_less_than_32_bits(engine, type, active, checks):
    """Lanes side by side, in reverse, and anywhere; alone, in words of 32 and of 64 bits; up to an odd end."""
    source = f"""#pragma OPENCL EXTENSION cl_khr_fp16 : enable
    __kernel void k(__global const {type}* a, __global const int* at, __global {type}* r, __local {type}* s) {{
      int i = get_global_id(0), l = get_local_id(0);
      s[l] = a[i]; s[l + 16] = a[2 * i + 1];
      barrier(CLK_LOCAL_MEM_FENCE);
      if ({active}) {{
        r[i] = a[130 - i]; r[63 - i + 64] = a[at[i]]; r[128 + at[i]] = s[at[i] & 31];
        vstore4(vload4(i, a) + vload4(at[i] / 4, a + 1), i, r + 260);
        vstore2(vload2(at[i] / 2, a + 1), at[i] / 2, r + 520);
      }} }}"""
    dtype = {"char": np.int8, "ushort": np.uint16, "half": np.float16}[type]
    rng = np.random.default_rng(7)
    a, at = rng.integers(-60 if type != "ushort" else 0, 60, 257).astype(dtype), rng.permutation(128)[:32].astype(np.int32)
    args = [Buffer(a), Buffer(at), Buffer(np.zeros(655, dtype)), Local(32 * a.itemsize)]
    result = engine.run(source, "k", (32,), (16,), args, checks=checks)
    assert not result.findings
    rows = [i for i in range(32) if active == "true" or i % 3 != 1]
    r, local = result.outputs[2], np.array([[*a[g : g + 16], *a[2 * g + 1 : 2 * g + 33 : 2]] for g in (0, 16)])
    for i in rows:
        assert r[i] == a[130 - i]
        assert r[127 - i] == a[at[i]]
        assert r[128 + at[i]] == local[i // 16][at[i] & 31]
        assert (r[260 + 4 * i : 264 + 4 * i] == a[4 * i : 4 * i + 4] + a[1 + at[i] // 4 * 4 :][:4]).all()
        assert (r[520 + at[i] // 2 * 2 :][:2] == a[1 + at[i] // 2 * 2 :][:2]).all()


@pytest.mark.parametrize(
    ("body", "flagged"),
    [
        ("r[x] = v + n * 77;", True),
        ("if (v < n) r[x] = n * 77;", False),
        ("if (v < n) for (int i = 0; i < n; i++) r[x] += n * 77 + i;", True),
        ("if (v < n) { r[x] = v; if (v & 1) { r[l] = n * 77; } }", False),
        ("r[x] = a[x * 77];", True),
        ("if (v < n) for (int i = 0; i < n; i++) r[x] += a[x * 77] + i;", False),
    ],
)
def test_what_is_exact_for_some_lane_at_work_is_said_of_no_other(monkeypatch, body, flagged):
    """Code under a mask may run for no lane, and lane 0, whose values stand for a pattern, may not be among those at work."""
    monkeypatch.setattr(recipes, "is_slow_without_lanes", lambda e, access: False)  # else it may not run for no lane
    text = module_of(body, checks="bounds", deferred_checks=True, proofs=Proofs(nsw=frozenset(range(200)))).text
    (line,) = (line for line in text.splitlines() if " mul " in line and ", 77" in line)
    assert (" nsw " in line) is flagged


def test_small_loops_through_private_arrays_are_written_out():
    body = "int t[4]; for (int i = 0; i < 4; i++) t[i] = a[x * 4 + i]; r[x] = t[0] + t[1] * t[2] - t[3];"
    assert module_of(body).text.count("!llvm.loop") == 1
    assert "!llvm.loop" not in module_of("int s = 0; for (int i = 0; i < 4; i++) s += a[x * 4 + i]; r[x] = s;").text
    assert "!llvm.loop" not in module_of(body.replace("4", "400")).text


def test_any_of_three_where_many_registers_are_in_use(engine):
    """What picks the signs of three numbers out of a register must be able to name that register."""
    source = """__kernel void k(__global const float* f, __global const long* a, __global float* e, __global char* r,
      __global const char* b) {
      int l = (int)(get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)));
      int g = (int)(get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2)));
      int i = g * 6 + l;
      e[i] = exp(f[i]);
      if (any(vload3(i & 15, a + 8))) return;
      r[i] = b[i + 8]; }"""
    a = np.ones(60, np.int64)
    a[8 + 3 * 1 + 2] = a[8 + 3 * 4] = -1
    args = [
        Buffer(np.ones(6, np.float32)),
        Buffer(a),
        Buffer(np.zeros(6, np.float32)),
        Buffer(np.zeros(6, np.int8)),
        Buffer(np.full(16, 3, np.int8)),
    ]
    result = engine.run(source, "k", (3, 2), (3, 2), args, checks="off", contract="off")
    np.testing.assert_array_equal(result.outputs[3], [3, 0, 3, 3, 0, 3])


def test_an_element_of_a_private_vector_is_one_step_from_its_variable():
    """Its address is a line, and not one for each index: a kernel of many such elements may else be too long to be optimised."""
    text = module_of("float4 s[3]; for (int i = 0; i < 3; i++) s[i] = v + i; s[1] = s[2] + v; r[x] = s[v & 1].y;").text
    steps = dict(re.findall(r"(%\w+) = getelementptr i8, ptr (%\w+), i64 \d+\n", text.partition("; runtime")[0]))
    accessed = re.findall(r"(?:store <\d+ x float> [^,]+|load <\d+ x float>), ptr (%\w+)", text)
    assert len(set(accessed) & steps.keys()) > 4
    assert not [name for name in accessed if steps.get(name) in steps]
