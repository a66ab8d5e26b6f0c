"""Counters against the instruction counts of Oclgrind, which runs kernels in an interpreter of its own.

Oclgrind counts instructions of LLVM IR as its clang makes them without optimisation. A vector is one instruction there: these
kernels compute with scalars.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from counted_launch import count, open_counting, upload

from adreno_sim.base.specs import Local

ORACLE = shutil.which("oclgrind-kernel")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(ORACLE is None, reason="no oclgrind-kernel (Debian's package oclgrind)")]

ITEMS, GROUP = 128, 16

KERNELS = {
    "polynomial": """kernel void k(global float *a, global float *b, local float *s, int n) {
        int i = get_global_id(0);
        float x = a[i];
        for (int j = 0; j < n; ++j) { x = x * 0.5f + a[(i + j) % 64]; if (x > 1.5f) x -= 1.0f; }
        b[i] = sqrt(x) / 3.0f;
    }""",
    "reduction": """kernel void k(global float *a, global float *b, local float *s, int n) {
        int i = get_global_id(0), l = get_local_id(0);
        s[l] = a[i] * a[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int m = get_local_size(0) / 2; m > 0; m >>= 1) { if (l < m) s[l] += s[l + m]; barrier(CLK_LOCAL_MEM_FENCE); }
        if (l == 0) b[get_group_id(0)] = s[0];
    }""",
    "collatz": """kernel void k(global float *a, global float *b, local float *s, int n) {
        uint i = get_global_id(0), x = i + 1, steps = 0;
        while (x != 1 && steps < 40) { x = x & 1 ? 3 * x + 1 : x >> 1; ++steps; }
        b[i] = steps;
    }""",
    "nested loops": """kernel void k(global float *a, global float *b, local float *s, int n) {
        size_t i = get_global_id(0);
        long sum = 0;
        for (int j = 0; j < (int)(i % 5); ++j) for (int m = 0; m <= j; ++m) { if ((m ^ j) & 1) continue; sum += m * n; }
        b[i] = convert_float(sum);
    }""",
}


def count_instructions(source: str, folder) -> dict[str, tuple[int, int]]:
    """What Oclgrind counts: executions and bytes, by instruction, or by "call" and the name of a function."""
    (folder / "k.cl").write_text(source)
    buffers = f"<size={4 * ITEMS} float range=0:1:{ITEMS - 1}>\n<size={4 * ITEMS} float fill=0>\n"
    (folder / "k.sim").write_text(f"k.cl\nk\n{ITEMS} 1 1\n{GROUP} 1 1\n{buffers}<size={4 * GROUP}>\n<size=4 int>\n7\n")
    command = [ORACLE, "--build-options", "-cl-opt-disable", "--inst-counts", "k.sim"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=True).stdout
    rows = re.findall(r"^ *([\d,]+) - ([^(\n]+?)(?:\(\))?(?: \(([\d,]+) bytes\))?$", said, re.MULTILINE)
    assert rows, said
    return {name: (int(times.replace(",", "")), int((nbytes or "0").replace(",", ""))) for times, name, nbytes in rows}


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_counts(name, tmp_path):
    theirs = count_instructions(KERNELS[name], tmp_path)

    def times(*instructions: str) -> int:
        return sum(theirs.get(instruction, (0, 0))[0] for instruction in instructions)

    device = open_counting()
    a, b = upload(device, np.arange(ITEMS, dtype=np.float32)), upload(device, np.zeros(ITEMS, np.float32))
    ours = count(device, KERNELS[name], (ITEMS,), (GROUP,), [a, b, Local(4 * GROUP), 7])
    operations = ours.operations
    floats = times("fadd", "fsub", "fmul", "fdiv") + 2 * times("call llvm.fmuladd.f32")
    assert floats or name in ("collatz", "nested loops")
    assert operations.get("float32", 0) == floats
    assert operations.get("special", 0) == times("call _Z4sqrtf")
    integers = times("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor")
    assert sum(operations.get(type, 0) for type in ("int32", "int64")) == integers
    assert operations.get("conversion", 0) == times("uitofp", "sitofp", "call _Z13convert_floatl")
    assert operations.get("compare", 0) == times("icmp", "fcmp")
    assert ours.barriers * GROUP == times("call _Z7barrierj")
    for space, rows in (("global", ("a", "b")), ("local", ("local",))):
        mine = [row for row in ours.memory if row.name in rows]
        read, written = theirs.get(f"load {space}", (0, 0)), theirs.get(f"store {space}", (0, 0))
        assert (sum(row.reads for row in mine), sum(row.read_bytes for row in mine)) == read
        assert (sum(row.writes for row in mine), sum(row.written_bytes for row in mine)) == written
