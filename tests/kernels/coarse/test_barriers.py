"""Which barriers order nothing, and which order something."""

from __future__ import annotations

import pytest

from adreno_sim.engine.coarsen.barriers import find_needless_barriers
from adreno_sim.frontend.program import FrontEndTarget, compile_source

B = "barrier(CLK_LOCAL_MEM_FENCE);"
CASES = {
    "before the first value is handed over": ("float s = in[l]; B a[l] = s; B out[l] = a[7 - l];", "needless needed"),
    "behind the last": ("a[l] = l; B float s = a[7 - l]; B out[l] = s;", "needed needless"),
    "before another array": ("a[l] = l; B b[l] = l; B out[l] = a[7 - l] + b[7 - l];", "needless needed"),
    "one behind another": ("a[l] = l; B B out[l] = a[7 - l];", "needless needed"),
    "read, then written": ("a[l] = l; B float s = a[7 - l]; B a[l] = s; B out[l] = a[0];", "needed needed needed"),
    "of memory that is written": ("out[l] = l; B more[l] = out[7 - l];", "needed"),
    "of memory that is only read": ("float s = in[l]; B out[l] = s + in[7 - l];", "needless"),
    "of two arguments that are written": ("out[l] = 1; B more[7 - l] = 2;", "needed"),
    "that some skip": ("if (n > 3) { B } out[l] = in[l];", "needed"),
    "in a loop": ("for (int i = 0; i < 3; i++) { B } out[l] = in[l];", "needed"),
    "through a pointer": ("local float *p = n ? a : b; p[l] = l; B out[l] = a[l];", "needed"),
}


@pytest.mark.parametrize("name", CASES)
def test_barriers(name):
    body, expected = CASES[name]
    source = f"""kernel void k(global const float *in, global float *out, global float *more, int n) {{
  local float a[8], b[8]; int l = get_local_id(0); {body.replace("B ", B + " ")} }}"""
    kernel = compile_source(source, target=FrontEndTarget()).kernels["k"]
    needless = find_needless_barriers(kernel)
    barriers = [i for block in kernel.blocks for i in block.instrs if i.callee is not None and i.callee.name == "barrier"]
    assert " ".join("needless" if id(i) in needless else "needed" for i in barriers) == expected
