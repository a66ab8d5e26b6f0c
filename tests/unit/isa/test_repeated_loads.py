"""Loads that give what is known have no code of their own; every other load has."""

from __future__ import annotations

import json

import pytest

import adreno_sim
from adreno_sim.isa.translate.kernel import translate_kernel

HEAD = "constant int t[4] = {1, 2, 3, 4}; kernel void k(global int *x, global int *y, local int *s) { int i = get_global_id(0);"
LOADS = {
    "y[i] = x[i] < 1 ? 1 : x[i] > 2 ? 2 : x[i];": 1,
    "y[i] = 7; y[i + 1] = y[i];": 0,
    "int a = x[i]; y[i] = a; y[i + 1] = x[i];": 2,
    "int a = x[i]; y[i] = a; if (a) y[i + 1] = y[i];": 1,
    "int a = x[i]; if (a) y[i] = a; y[i + 1] = x[i];": 2,
    "int a = x[i]; barrier(CLK_GLOBAL_MEM_FENCE); y[i] = a + x[i];": 2,
    "int a = x[i]; mem_fence(CLK_GLOBAL_MEM_FENCE); y[i] = a + x[i];": 2,
    "int a = x[i]; atomic_inc(y); y[i] = a + x[i];": 2,
    "int a = x[i]; vstore2((int2)(1), i, y); y[i] = a + x[i];": 2,
    "int a = x[i]; s[i] = 1; y[i] = a + x[i];": 1,
    "int a = s[i]; x[i] = 1; y[i] = a + s[i];": 1,
    "int a = x[i]; for (int j = 0; j < a; j++) y[j] = x[i];": 2,
    "global volatile int *v = x; int a = v[i]; y[i] = a + v[i];": 2,
    "global float *f = (global float *)x; int a = x[i]; y[i] = a + (int)f[i];": 2,
    "y[i] = x[i] + x[i + 1];": 2,
    "y[i] = t[1] + t[3];": 0,
    "const int w[3] = {4, 5, 6}; y[i] = w[i % 3];": 0,
}
"""Loads of memory by the body of a kernel."""


@pytest.mark.parametrize("body", LOADS)
def test_loads_that_repeat_others_have_no_code(body):
    assert count_loads(body, ("load_global", "load_shared")) == LOADS[body]


def test_constant_data_are_loaded_once_over_a_barrier():
    assert count_loads("y[i] = t[i]; barrier(CLK_GLOBAL_MEM_FENCE); y[i + 1] = t[i];", ("load_constant",)) == 1


def count_loads(body: str, names: tuple[str, ...]) -> int:
    function = adreno_sim.open_device("sim:reference").build(HEAD + body + " }", "-cl-std=CL3.0").module.kernels["k"]
    instructions = json.loads(translate_kernel(function).program)["instructions"]
    return sum(kind == "intrinsic" and rest[0].startswith(names) for kind, *rest in instructions)


def test_data_that_hold_addresses_are_loaded():
    source = "constant int a = 5; constant int *constant p[1] = {&a}; kernel void k(global int *o) { o[0] = *p[0]; }"
    function = adreno_sim.open_device("sim:reference").build(source, "-cl-std=CL3.0").module.kernels["k"]
    instructions = json.loads(translate_kernel(function).program)["instructions"]
    assert any(kind == "intrinsic" and rest[0].startswith("load_global") for kind, *rest in instructions)


def test_a_private_array_may_have_any_length():
    source = "kernel void k(global int *o) { char t[1 << 30]; t[o[0]] = 1; o[1] = t[o[2]]; }"
    function = adreno_sim.open_device("sim:reference").build(source).module.kernels["k"]
    assert json.loads(translate_kernel(function).program)["variables"] == [[8, 1 << 30]]
