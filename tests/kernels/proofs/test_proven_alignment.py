"""A load or store whose bytes from the start of its object are proven to be aligned has no check; others keep it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from in_range_checks import findings, launch_of

from adreno_sim.engine import codegen
from adreno_sim.engine.abi.specialization import NOTHING
from adreno_sim.engine.prove.in_range import AccessAnalysis, prove_in_range

HEAD = """__kernel void k(__global int *a, __global int *b, int n, uint u) {
  int i = get_global_id(0); __global uchar *p = (__global uchar *)a; """
ELEMENTS = 512
ACCESSES = {  # n is 7, u is 5: how an access lies at a multiple of 4, and how one that looks like it does not
    "argument": ("*(__global int *)(p + i * (n + 1)) = i;", "*(__global int *)(p + i * n) = i;"),
    "sum": ("*(__global int *)(p + (i + 1) * 8 + n - 3) = i;", "*(__global int *)(p + (i + 1) * 8 + n - 4) = i;"),
    "two arguments": ("*(__global int *)(p + i * (n + u)) = i;", "*(__global int *)(p + i * (n + u + 1)) = i;"),
    "vload": ("a[i] |= vload2(i, (__global int *)(p + n + 1)).x;", "a[i] |= vload2(i, (__global int *)(p + n)).x;"),
    "vstore": ("vstore2((int2)(i), i, (__global int *)(p + n + 1));", "vstore2((int2)(i), i, (__global int *)(p + n - 1));"),
    "vector of 8 bytes": ("*(__global int2 *)(p + i * (n + 1)) = i;", "*(__global int2 *)(p + i * (n + 1) + n - 3) = i;"),
    "loop": (
        "for (int j = 0; j < n; j++) *(__global int *)(p + i * 32 + j * (n - 3)) = j;",
        "for (int j = 0; j < n; j++) *(__global int *)(p + i * 32 + j * (n - 5)) = j;",
    ),
    "row": (
        "*(__global int *)(p + mad24(i / 8, (int)u + 27, i % 8 * 4)) = i;",
        "*(__global int *)(p + mad24(i / 8, (int)u + 28, i % 8 * 4)) = i;",
    ),
}


def may_fail(source: str, *, believed: bool = True) -> bool:
    """Whether a check is left in the code of a launch."""
    function, spec, facts = launch_of(source, ELEMENTS)
    proofs = prove_in_range(AccessAnalysis(function, spec, facts)) if believed else NOTHING
    return codegen.emit_module(function, replace(spec, proofs=proofs, checks="bounds", deferred_checks=True)).may_fail


@pytest.mark.parametrize("name", ACCESSES)
def test_an_aligned_access_has_no_check_and_the_other_is_found(engine, monkeypatch, name):
    good, bad = (f"{HEAD} {access} }}" for access in ACCESSES[name])
    assert may_fail(good, believed=False)
    assert not may_fail(good)
    assert may_fail(bad)
    fast, slow = (findings(engine, monkeypatch, good, ELEMENTS, way) for way in (True, False))
    assert fast[0] == slow[0] == []
    np.testing.assert_array_equal(fast[1][0], slow[1][0])
    found, wanted = (findings(engine, monkeypatch, bad, ELEMENTS, way) for way in (True, False))
    assert {f.kind.label for f in found[0]} == {f.kind.label for f in wanted[0]} == {"misaligned-access"}
    np.testing.assert_array_equal(found[1][0], wanted[1][0])
