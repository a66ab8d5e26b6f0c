"""Machine code calls nothing outside itself but what is given to it (`llvm.objects`), on every processor."""

from __future__ import annotations

import itertools
import re
import struct

import numpy as np
import pytest
from processors import OLDEST

import adreno_sim
from adreno_sim.device import BufferSpec
from adreno_sim.engine.emit.c_runtime import WORK, whole_runtime
from adreno_sim.engine.llvm import objects

GIVEN = {"memmove", "memcpy", "memset", "syscall"}
DATA_OF_A_KERNEL = ("kernel_shape", "sync_points", "event_counters", "srgb_edges")
CODE_OF_A_KERNEL = ("group", "run_region", "combine", "begin_group", "items_of_group")
MACHINES = [OLDEST, (None, None)]
"""The oldest, and this one."""


def undefined_symbols(code: bytes) -> set[str]:
    """The symbols that a 64-bit ELF object needs from elsewhere (System V ABI, chapter 4: sections and symbol table)."""
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<2H", code, 58)
    sections = [struct.unpack_from("<2I4Q2I2Q", code, table + n * size) for n in range(count)]
    found = set()
    for section in sections:
        if section[1] == 2:  # SHT_SYMTAB; its link is the section of the names
            names = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, _, _, place = struct.unpack_from("<I2BH", code, at)
                start = names + name
                if name and place == 0:  # SHN_UNDEF
                    found.add(code[start : code.index(b"\0", start)].decode())
    return found


@pytest.fixture(params=MACHINES, ids=["oldest", "host"])
def machine(request):
    return objects.Machine(*request.param)


def test_the_reader_of_objects_finds_what_is_missing(machine):
    code = machine.compile(
        "declare half @other(i64)\ndefine double @some(i64 %n) {\n  %h = call half @other(i64 %n)\n"
        "  %d = fpext half %h to double\n  ret double %d\n}\n"
    )
    assert "other" in undefined_symbols(code)
    assert "some" not in undefined_symbols(code)


def test_the_runtime_needs_only_its_kernel(machine):
    data = "".join(f"@{name} = external constant [255 x i8]\n" for name in DATA_OF_A_KERNEL)
    assert undefined_symbols(machine.compile(data + whole_runtime().text())) <= {*GIVEN, *DATA_OF_A_KERNEL, *CODE_OF_A_KERNEL}


def test_soft_float_needs_nothing(machine):
    assert undefined_symbols(machine.compile(objects.soft_float_text())) == set()


CONVERSIONS = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef struct { long words[40]; } Large;

kernel void convert(global half *h, global float *f, global double *d, global long *l, global ulong *u, global Large *s) {
  const int i = get_global_id(0);
  local Large seen[2];
  float sums[64];
  for (int n = 0; n < 64; ++n) sums[n] = 0;
  for (int n = 0; n < 64; ++n) sums[(n * i) & 63] += f[n & 3];
  seen[i & 1] = s[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  s[i] = seen[i & 1];
  h[i] = (half)d[i] + (half)f[i] + convert_half_rtz(d[i]) + (half)l[i] + (half)u[i];
  f[i] = (float)h[i] + (float)l[i] + (float)u[i] + fma(f[i], sums[i], f[i]) + exp(f[i]);
  d[i] = (double)h[i] + fma(d[i], d[i], d[i]) + (double)u[i] + (double)l[i];
  l[i] = (long)h[i] + (long)d[i] + (long)f[i] + l[i] / (u[i] | 1);
  u[i] = convert_ulong_sat(h[i]) + convert_ulong_sat(d[i]) + convert_ulong_sat(f[i]);
  atomic_add((volatile global int *)l, 1);
}
"""


@pytest.mark.parametrize("checks", ["off", "bounds", "full"])
def test_a_kernel_needs_what_is_given_and_soft_float(checks, monkeypatch):
    """Conversions that a processor has not, copies of structures, loops that fill arrays, atomics."""
    texts = []
    compile_text = objects.Machine.compile
    monkeypatch.setattr(objects.Machine, "compile", lambda self, text: texts.append(text) or compile_text(self, text))
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
    device = adreno_sim.open_device("sim:reference", checks=checks, threads=1)
    counts = {"float16": 4, "float32": 4, "float64": 4, "int64": 4, "uint64": 4, "uint8": 4 * 320}
    sizes = {dtype: np.dtype(dtype).itemsize * count for dtype, count in counts.items()}
    views = [device.view(device.allocate(size), BufferSpec(size, dtype)) for dtype, size in sizes.items()]
    for view, (dtype, count) in zip(views, counts.items(), strict=True):
        device.write(view, np.ones(count, dtype))
    device.launch(device.build(CONVERSIONS)["convert"], (4,), (2,), views)
    kernels = [text for text in texts if "@kernel_shape" in text]
    assert kernels
    fallbacks = set(read_names(objects.soft_float_text()))
    needed = [
        undefined_symbols(compile_text(objects.Machine(*machine), text)) for machine, text in itertools.product(MACHINES, kernels)
    ]
    assert all({WORK} <= names <= GIVEN | {WORK} | fallbacks for names in needed)
    assert ("__extendhfsf2" in needed[0]) == objects.Machine(*OLDEST).processor.needs_soft_float


def read_names(text: str) -> list[str]:
    return re.findall(r"^define .*?@([\w.]+)\(", text, re.M)
