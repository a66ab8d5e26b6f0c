# ruff: noqa: E501 (kernel sources read better unbroken)
"""Overruns of a row or a field that stay inside their object: what is reported, and what must not be."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Buffer, Scalar

HEAD = """typedef struct { int n; float values[4]; float rest[3]; } fixed_t;
typedef struct { int n; float values[1]; } open_t;
typedef union { float lanes[4]; float4 vector; } union_t;
"""


def run(engine, body: str, index: int):
    source = f"{HEAD}__kernel void k(__global float* a, int i) {{ float t[3][4]; for (int n = 0; n < 12; ++n) t[n / 4][n % 4] = a[n]; {body} }}"
    return engine.run(source, "k", [1], [1], [Buffer(np.arange(64, dtype=np.float32)), Scalar(np.int32(index))])


OVERRUNS = {
    "row of a private array": ("a[63] = t[1][i];", 4),
    "row, before its start": ("a[63] = t[1][i];", -1),
    "written": ("t[1][i] = 5.0f; a[63] = t[2][0];", 4),
    "middle extent": ("float u[2][2][4]; for (int n = 0; n < 16; ++n) u[n / 8][n / 4 % 2][n % 4] = n; a[63] = u[0][i][1];", 2),
    "field of a struct": ("__global fixed_t* p = (__global fixed_t*)a; a[63] = p->values[i];", 4),
    "array of structs": ("fixed_t s[2]; s[0].rest[2] = a[0]; s[1].n = i; s[1].values[0] = 0; a[63] = s[0].rest[i];", 3),
    "pointer to rows": ("__global float (*rows)[8] = (__global float (*)[8])a; a[63] = rows[2][i];", 8),
    "vector over the end": ("a[63] = (*(__global float4*)&((__global fixed_t*)a)[0].values[i]).w;", 3),
    "start of a vload": ("a[63] = vload2(0, &t[1][i]).y;", 5),
    "increment": ("t[0][i]++; a[63] = t[1][0];", 4),
}


@pytest.mark.parametrize("name", OVERRUNS)
def test_an_overrun_inside_the_object_is_a_warning(engine, name):
    body, index = OVERRUNS[name]
    found = [f for f in run(engine, body, index).findings if f.kind.label != "misaligned-access"]
    assert [(f.kind.label, f.severity) for f in found] == [("sub-object-overrun", 1)]
    assert f"index {index} " in found[0].message


SILENT = {
    "last element": ("a[63] = t[1][i];", 3),
    "pointer arithmetic over all rows": ("float* p = t[0]; a[63] = p[i];", 9),
    "end of a row as a limit": ("float sum = 0; for (float* p = t[1]; p < &t[1][i]; ++p) sum += *p; a[63] = sum;", 4),
    "array that stands for as many as there are": ("__global open_t* p = (__global open_t*)a; a[63] = p->values[i];", 9),
    "lane of a union": ("union_t u; u.vector = vload4(0, a); a[63] = u.lanes[i];", 3),
    "vector in a row": ("a[63] = vload4(0, &t[1][i]).w;", 0),
    "not accessed": ("a[63] = i < 4 ? t[1][i] : 0.0f;", 4),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_is_no_overrun_is_silent(engine, name):
    assert not run(engine, *SILENT[name]).findings


def test_an_overrun_of_the_whole_object_is_only_that(engine):
    assert run(engine, "a[63] = t[2][i];", 4).kinds() == ["out-of-bounds-read"]
    assert run(engine, "a[63] = ((__global fixed_t*)a)[7].rest[i];", 90).kinds() == ["out-of-bounds-read"]
