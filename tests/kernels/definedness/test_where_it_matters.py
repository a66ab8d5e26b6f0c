"""Values that are undefined: computed with, stored, copied and left alone without a finding; found where they decide something.

Each case has its clean twin.
"""

from __future__ import annotations

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.engine.shadow.undefined_values import UndefinedValues

ITEMS, GROUP = 32, 8
HEAD = """__kernel void k(__global const float *x, __global float *y, int n, __write_only image2d_t image) {
  int me = get_global_id(0), at = get_local_id(0); __local float tile[8];
"""
R = "float r; if (me < n) r = x[me];"

PAIRS = {  # what is clean; what is not; a part of the message
    "arithmetic under a guard": (
        f"{R} r = r * 2.0f; if (me < n) y[me] = r;",
        f"{R} r = r * 2.0f; y[me] = r;",
        "uses r, to which nothing was assigned: it is stored in y",
    ),
    "registers of a butterfly": (
        "float2 a[4]; if (me < n) for (int i = 0; i < 4; i++) a[i] = vload2(me, x); a[0] += a[2]; a[1] -= a[3] * a[0].yx;"
        "if (me < n) for (int i = 0; i < 2; i++) y[2 * me + i] = a[i].x;",
        "float2 a[4]; if (me < n) for (int i = 0; i < 4; i++) a[i] = vload2(me, x); a[0] += a[2]; a[1] -= a[3] * a[0].yx;"
        "for (int i = 0; i < 2; i++) y[2 * me + i] = a[i].x;",
        "of a, and nobody has written some of them",
    ),
    "a branch": (
        f"{R} if (me < n && r > 3.0f) y[me] = 1.0f;",
        f"{R} if (r > 3.0f) y[me] = 1.0f;",
        "a branch depends on it",
    ),
    "a loop": (
        "int c; if (me < n) c = 3; float s = 0; if (me < n) for (int i = 0; i < c; i++) s += x[i]; y[me] = s;",
        "int c; if (me < n) c = 3; float s = 0; for (int i = 0; i < c; i++) s += x[i]; y[me] = s;",
        "a branch depends on it",
    ),
    "a pointer that is not followed": (
        "int j; if (me < n) j = me; __global const float *p = x + j; if (me < n) y[me] = *p;",
        "int j; if (me < n) j = me; __global const float *p = x + j; y[me] = *p;",
        "an address depends on it",
    ),
    "an index": (
        "int j; if (me < n) j = me; j = j * 2; if (me < n) y[j & 63] = 1.0f;",
        "int j; if (me < n) j = me; j = j * 2; y[j & 63] = 1.0f;",
        "an address depends on it",
    ),
    "bits that are cut off": (
        "int j; y[(j & 0) + me] = 1.0f; y[me + 32] = (float)((j << 8) & 255);",
        "int j; y[(j & 1) + me] = 1.0f;",
        "an address depends on it",
    ),
    "the side that is not chosen": (
        f"{R} y[me] = select(0.0f, r, me < n);",
        f"{R} y[me] = select(0.0f, r, me <= n);",
        "it is stored in y",
    ),
    "a bit that decides a choice": (
        "int j; if (me < n) j = me; y[me] = select(0.0f, x[me], j | 4);",
        "int j; if (me < n) j = me; y[me] = select(0.0f, x[me], j & 4);",
        "it is stored in y",
    ),
    "local memory": (
        f"{R} tile[at] = r; barrier(CLK_LOCAL_MEM_FENCE); float q = tile[at ^ 1]; if ((me ^ 1) < n) y[me] = q;",
        f"{R} tile[at] = r; barrier(CLK_LOCAL_MEM_FENCE); float q = tile[at ^ 1]; y[me] = q;",
        ".tile, and nobody has written some of them",
    ),
    "behind a barrier": (
        f"{R} r += 1.0f; barrier(CLK_LOCAL_MEM_FENCE); if (me < n) y[me] = r;",
        f"{R} r += 1.0f; barrier(CLK_LOCAL_MEM_FENCE); y[me] = r;",
        "uses r, to which nothing was assigned",
    ),
    "a division": (
        "int d; if (me < n) d = 3; int q = 7 / d; if (me < n) y[me] = q;",
        "int d; if (me < n) d = 3; int q = 7 / d; y[me] = q;",
        "uses d, to which nothing was assigned",
    ),
    "the second result of a function": (
        f"{R} float whole; float rest = fract(r, &whole); if (me < n) y[me] = whole + rest;",
        f"{R} float whole; float rest = fract(r, &whole); y[me] = whole;",
        "of whole, and nobody has written some of them",
    ),
    "a struct": (
        "struct { char c; float f, g; } s, t; if (me < n) s.f = x[me]; s.g = s.f + 1.0f; t = s; if (me < n) y[me] = t.g;",
        "struct { char c; float f, g; } s, t; if (me < n) s.f = x[me]; s.g = s.f + 1.0f; t = s; y[me] = t.g;",
        "of s, and nobody has written some of them",
    ),
    "what is replaced before somebody looks": (
        f"{R} y[me] = r; mem_fence(CLK_GLOBAL_MEM_FENCE); float old = y[me]; y[me] = me < n ? old : 0.0f;",
        f"{R} y[me] = r; mem_fence(CLK_GLOBAL_MEM_FENCE); float old = y[me]; y[me] = old + 1.0f;",
        "of y, and nobody has written some of them",
    ),
    "a lane of a vector": (
        "float4 v; v.x = 1.0f; v = fmax(v, 0.5f); y[me] = v.x; y[me + 32] = v.xyxy.z;",
        "float4 v; v.x = 1.0f; v = fmax(v, 0.5f); y[me] = v.x; y[me + 32] = v.xyxy.w;",
        "uses v.y, to which nothing was assigned",
    ),
    "a lane that shuffle moves": (
        "float4 v; v.x = 1.0f; v.y = x[me]; float4 s = shuffle(v, (uint4)(1, 0, 2, 1)); y[me] = s.x; y[me + 32] = s.w;",
        "float4 v; v.x = 1.0f; v.y = x[me]; float4 s = shuffle(v, (uint4)(1, 0, 2, 1)); y[me] = s.z;",
        "uses v.z, to which nothing was assigned",
    ),
    "a lane that a mask chooses": (
        "float4 v, w; v.x = 1.0f; w.w = 2.0f; uint4 m; m.xy = (uint2)(me & 4, (me & 0) + 7); float4 s = shuffle2(v, w.wzyx, m);"
        "y[me] = s.x; y[me + 32] = me > 40 ? s.y : 0.0f;",
        "float4 v, w; v.x = 1.0f; w.w = 2.0f; uint4 m; m.xy = (uint2)(me & 4, (me & 0) + 7); float4 s = shuffle2(v, w.wzyx, m);"
        "y[me] = s.y;",
        "to which nothing was assigned: it is stored in y",
    ),
    "an atomic operation": (
        "__local int sum; int c; if (me < n) c = 1; c += 1; if (at == 0) atomic_xchg(&sum, 0);"
        "barrier(CLK_LOCAL_MEM_FENCE); if (me < n) atomic_add(&sum, c);",
        "__local int sum; int c; if (me < n) c = 1; c += 1; if (at == 0) atomic_xchg(&sum, 0);"
        "barrier(CLK_LOCAL_MEM_FENCE); atomic_add(&sum, c);",
        "an atomic operation takes it",
    ),
    "printf": (
        f'{R} r += 1.0f; if (me < n && me < 2) printf("%f", r);',
        f'{R} r += 1.0f; if (me > 20 && me < 24) printf("%f", r);',
        "printf prints it",
    ),
    "a texel": (
        f"{R} if (me < n) write_imagef(image, (int2)(me, 0), (float4)(r, 0, 0, 0));",
        f"{R} write_imagef(image, (int2)(me, 0), (float4)(r, 0, 0, 0));",
        "it is written to image",
    ),
    "a lane that the format does not hold": (
        "float4 c; c.x = 1.0f; write_imagef(image, (int2)(me, 0), c);",
        "float4 c; c.y = 1.0f; write_imagef(image, (int2)(me, 0), c);",
        "uses c.x, to which nothing was assigned: it is written to image",
    ),
}


def launch(body: str, emitter: str) -> list[str]:
    """Returns what is found."""
    device = adreno_sim.open_device("sim:adreno-740", checks="full", emitter=emitter)
    views = [device.view(device.allocate(256), BufferSpec(256, "float32")) for _ in "xy"]
    device.write(views[0], np.arange(64, dtype=np.float32))
    image = device.view(device.allocate(4096), ImageSpec("image2d", ITEMS, 1, 1, "R", "FLOAT"))
    kernel = device.build(HEAD + body + "\n}\n", "-cl-std=CL2.0")["k"]
    found = device.launch(kernel, (ITEMS,), (GROUP,), [*views, np.int32(20), image]).findings
    return [f"{f.kind.label}: {f.message}" for f in found]


@pytest.mark.share()
@pytest.mark.parametrize("name", PAIRS)
def test_what_decides_nothing_is_no_finding(name):
    clean, wrong, part = PAIRS[name]
    assert launch(clean, "spmd") == []
    found = launch(wrong, "spmd")
    assert any(one.startswith("uninitialized-read: ") and part in one for one in found), found


def test_what_a_loop_hands_on_takes_a_step_for_each_variable(monkeypatch, tmp_path):
    """Each iteration hands what is undefined on to one more of 60 variables: sixty times all of them is too much."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))  # else code of an earlier run is taken, and nothing is analysed
    visit, visited = UndefinedValues._visit, []

    def count(values: UndefinedValues, instr: object) -> bool:
        visited.append(instr)
        return visit(values, instr)

    monkeypatch.setattr(UndefinedValues, "_visit", count)
    handed_on = "".join(f"r{n} = r{n + 1};" for n in range(59))
    variables = "".join(f"float r{n} = x[{n & 31}];" for n in range(59)) + "float r59;"
    found = launch(f"{variables} for (int i = 0; i < 29; i++) {{ float t = r0; {handed_on} r59 = t; }} y[me] = r30;", "spmd")
    assert any("uses r59, to which nothing was assigned: it is stored in y" in one for one in found), found
    assert 60 < len(visited) < 2000


def test_a_later_launch_is_told():
    """What a launch stored undefined is as good as unwritten for the next."""
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    device.defers_outputs = True
    views = [device.view(device.allocate(256), BufferSpec(256, "float32")) for _ in "xyz"]
    device.write(views[0], np.arange(64, dtype=np.float32))
    source = f"""__kernel void a(__global const float *x, __global float *y, int n) {{
      int me = get_global_id(0); {R} y[me] = r; }}
    __kernel void b(__global const float *y, __global float *z, int n) {{
      int me = get_global_id(0); if (me < n) z[me] = y[me]; }}"""
    program = device.build(source)
    first = device.launch(program["a"], (ITEMS,), (GROUP,), [*views[:2], np.int32(20)])
    assert not first.findings
    assert [(view, f.count) for view, f in first.left] == [(views[1], ITEMS - 20)]
    assert not device.launch(program["b"], (ITEMS,), (GROUP,), [*views[1:], np.int32(20)]).left
    second = device.launch(program["b"], (ITEMS,), (GROUP,), [*views[1:], np.int32(21)])
    ((_, finding),) = second.left
    assert finding.message.startswith("reads 4 bytes at offset 80 of y, and nobody has written some of them")
