"""Which halves hold no denormal: results of arithmetic and what moves them, through loops and private variables."""

from __future__ import annotations

import pytest

from adreno_sim.engine.analysis.normal_halves import NormalHalves
from adreno_sim.frontend.program import FrontEndTarget, compile_source

HEAD = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define EACH4 for (int i = 0; i < 4; ++i)
#define EACH for (int i = 0; i < n; ++i)
kernel void k(global half *p, global half *o, int n) { half x = p[0], y = p[1]; """


def is_normal(body: str) -> bool:
    """Whether what is stored to o[0] is known to hold no denormal."""
    function = compile_source(f"{HEAD}{body} }}", "", target=FrontEndTarget()).kernels["k"]
    stores = [instr for block in function.blocks for instr in block.instrs if instr.op == "store"]
    return NormalHalves(function).holds(stores[-1].operands[0])


@pytest.mark.parametrize(
    "body",
    [
        "o[0] = x * y;",
        "o[0] = -(x + y);",
        "o[0] = 1.0h;",
        "half s = 0; EACH s += p[i]; o[0] = s;",
        "half s = 1.0h; EACH s = i > 3 ? s + x : s / y; o[0] = s;",
        "half a[4]; EACH4 a[i] = 0; EACH a[i & 3] = a[i & 3] + x * y; o[0] = a[n & 3];",
        "half a[4]; vstore4((half4)(0), 0, a); a[n & 3] = x + y; half4 v = vload4(0, a); o[0] = v.y;",
    ],
)
def test_normal(body):
    assert is_normal(body)


@pytest.mark.parametrize(
    "body",
    [
        "o[0] = x;",
        "o[0] = 0x1p-20h;",
        "half s = 0; EACH s = i > 3 ? s + y : x; o[0] = s;",
        "half s = x; EACH s += y; o[0] = s;",
        "o[0] = fabs(x);",
        "half a[4]; EACH4 a[i] = 0; a[n & 3] = x; o[0] = a[(n + 1) & 3] ;",
        "half a[4]; EACH4 a[i] = 0; ((ushort *)a)[n & 3] = 1; o[0] = a[(n + 1) & 3];",
        "half a[4]; vstore4((half4)(x), 0, a); a[n & 3] = x + y; o[0] = a[(n + 1) & 3];",
    ],
)
def test_perhaps_denormal(body):
    assert not is_normal(body)
