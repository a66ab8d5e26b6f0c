"""Code for Arm, made on whatever machine runs the tests: it compiles, and holds and calls nothing of another family."""

from __future__ import annotations

import platform
import re
import struct

import pytest

from adreno_sim.base.host.aarch64 import AARCH64
from adreno_sim.base.host.current import current_family
from adreno_sim.engine import codegen
from adreno_sim.engine.abi.specialization import BufferArg, Specialization
from adreno_sim.engine.emit import c_runtime
from adreno_sim.engine.llvm import objects
from adreno_sim.frontend.program import FrontEndTarget, compile_source
from adreno_sim.icd import waiting

EM_AARCH64 = 183
GIVEN = {b"memmove", b"memcpy", b"memset", b"syscall"}
FOREIGN = re.compile(r"x86|ia32|mxcsr", re.IGNORECASE)
FEATURES = ("+neon,-fullfp16", "+neon,+fullfp16", "+neon,+lse,+fullfp16")
SOURCE = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global float *f, global half *h, global int *n) {
  local float s[16];
  const int i = get_global_id(0);
  s[get_local_id(0)] = fmin(f[i], exp(f[i])) * f[i + 16];
  barrier(CLK_LOCAL_MEM_FENCE);
  f[i] = fma(s[i & 15], f[i], max(f[i], 0.f));
  h[i] = h[i] * h[i + 16] + (half)f[i];
  LAST
}"""


@pytest.fixture(scope="module")
def arm():
    """This process as on a machine of Arm. It compiles, and cannot load what it made."""
    known = objects._machine
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform, "machine", lambda: AARCH64.machine)
        current_family.cache_clear()
        c_runtime.runtime.cache_clear()
        yield patch
    objects._machine = known
    current_family.cache_clear()
    c_runtime.runtime.cache_clear()


def undefined(code: bytes) -> set[bytes]:
    """Names of the symbols that an ELF object needs from elsewhere."""
    (table,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<2H", code, 58)
    sections = [struct.unpack_from("<2I4Q2I2Q", code, table + n * size) for n in range(count)]
    found = set()
    for section in (section for section in sections if section[1] == 2):
        for at in range(section[4], section[4] + section[5], 24):
            name, _, _, place = struct.unpack_from("<I2BH", code, at)
            start = sections[section[6]][4] + name
            found |= {code[start : code.index(b"\0", start)]} if name and not place else set()
    return found


@pytest.mark.each_value
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(
    ("checks", "last", "lanes"), [("off", "", 8), ("bounds", "", 1), ("full", "", 1), ("off", "atomic_add(n, i);", 1)]
)
def test_a_kernel_compiles(arm, features, checks, last, lanes):
    objects._machine = machine = objects.Machine("generic", features, AARCH64)
    kernel = compile_source(SOURCE.replace("LAST", last), "", target=FrontEndTarget()).kernels["k"]
    emitter = "scalar" if lanes == 1 else "spmd"
    spec = Specialization(args=(BufferArg(),) * 3, local_size=(16, 1, 1), checks=checks, flush_denormals=True, emitter=emitter)
    made = codegen.emit_module(kernel, spec)
    assert made.lanes == lanes
    assert not FOREIGN.search(made.text)
    assert ("fmul half" in made.text or "fmul <8 x half>" in made.text) == ("+fullfp16" in features)
    code = machine.compile(made.text)
    assert struct.unpack_from("<H", code, 18) == (EM_AARCH64,)
    assert undefined(code) <= GIVEN | {b"work"}


def test_the_runtime_has_nothing_of_another_family(arm):
    text = c_runtime.whole_runtime().text()
    assert not FOREIGN.search(text)
    assert "@llvm.aarch64.set.fpcr" in text
    data = "".join(
        f"@{name} = external constant [255 x i8]\n" for name in ("kernel_shape", "sync_points", "event_counters", "srgb_edges")
    )
    code = objects.Machine("generic", "+neon", AARCH64).compile(data + text)
    assert struct.unpack_from("<H", code, 18) == (EM_AARCH64,)
    assert not {name for name in undefined(code) if name.startswith((b"__aarch64", b"__atomic"))}


def test_the_wait_of_the_server_calls_no_helper(arm):
    """Atomics of Armv8.0 are loops, which clang would leave to functions of its own library."""
    code = waiting.compile_waiting()
    assert struct.unpack_from("<H", code, 18) == (EM_AARCH64,)
    assert undefined(code) == {b"syscall"}
