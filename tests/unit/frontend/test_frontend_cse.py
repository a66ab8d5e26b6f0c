"""What a block computes twice is computed once, unless a finding has a place there."""

from __future__ import annotations

from collections import Counter

import pytest

from adreno_sim.frontend.program import FrontEndTarget, compile_source


def ops(body: str) -> Counter[str]:
    """How often each operation, or each built-in, is left in a kernel of integer arguments x, y and pointers a, b."""
    source = f"__kernel void k(__global int *a, __global float *b, __local int *l, int x, int y) {{ {body} }}"
    function = compile_source(source, "-cl-std=CL3.0", target=FrontEndTarget(300)).kernels["k"]
    return Counter(i.callee.name if i.callee else i.op for block in function.blocks for i in block.instrs)


def test_an_index_spelled_out_at_every_access_is_computed_once() -> None:
    index = "(int)get_group_id(0) * 12 + (int)get_local_id(0) * 3 + x"
    found = ops(f"a[{index}] = a[{index}] + 1; b[{index}] = b[{index}] * 2.0f;")
    assert (found["get_group_id"], found["get_local_id"], found["mul"], found["sext"]) == (1, 1, 2, 1)
    assert (found["gep"], found["load"], found["store"]) == (2, 2, 2)


@pytest.mark.parametrize(
    ("body", "op", "count"),
    [
        ("a[0] = x * y; a[1] = y * x;", "mul", 2),  # not told to be the same
        ("a[0] = x * 3; a[1] = x * 4; a[2] = x * 3;", "mul", 2),
        ("a[0] = x < y; a[1] = x > y; a[2] = x < y;", "icmp", 2),
        ("a[0] = (char)x + (short)x + (char)x;", "trunc", 2),
        ("a[0] = x / y; a[1] = x / y;", "sdiv", 2),  # a division by zero has its place
        ("a[0] = x << y; a[1] = x << y;", "shl", 2),  # and so has an amount too large
        ("a[0] = x >> 5; a[1] = x >> 5;", "ashr", 1),
        ("a[0] = get_global_id(0); a[1] = get_global_id(1); a[2] = get_global_id(0);", "get_global_id", 2),
        ("a[0] = a[3]; a[1] = a[3];", "load", 2),
        ("int t[4][4]; t[0][0] = 0; a[0] = t[1][x];\n a[1] = t[1][x];", "gep", 7),  # x may leave the row in two places
        ("if (x) a[0] = x * y; else a[1] = x * y;", "mul", 2),
        ("a[0] = x * y; barrier(CLK_LOCAL_MEM_FENCE); a[1] = x * y;", "mul", 2),
        ("a[0] = x * y; a[1] = sub_group_reduce_add(x * y); a[2] = x * y;", "mul", 2),
    ],
)
def test_what_is_shared(body: str, op: str, count: int) -> None:
    assert ops(body)[op] == count


def test_uses_in_other_blocks_and_in_loops_follow() -> None:
    found = ops("int s = x * y; for (int i = 0; i < x * y; i++) { s += a[i * y] + a[i * y]; } a[x * y] = s + x * y;")
    assert found["load"] == 2
    assert found["mul"] == 4
