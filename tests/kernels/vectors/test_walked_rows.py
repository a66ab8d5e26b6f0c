"""Loops in which each lane walks along a row of its own: rows are loaded early and turned, each iteration gets its own."""

from __future__ import annotations

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.llvm import objects

COUNT, PITCH = 96, 72
TYPES = {"uchar": np.uint8, "short": np.int16, "half": np.float16, "int": np.int32, "float": np.float32, "long": np.int64}
KERNEL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global const T *a, global T *d, int n, global T *same) {{
  int x = get_global_id(0); T s = 0;
  {body}
  d[x] = s;
}}"""

WALKS = {
    "index": "for (int i = 0; i < n; i++) s = s * (T)3 + a[x * 72 + i];",
    "inclusive": "for (int i = 1; i <= n; i++) s = s * (T)3 + a[x * 72 + i - 1];",
    "steps of two": "global const T *p = a + x * 72; for (int i = 0; i < 2 * n; i += 2, p++) s = s * (T)3 + *p;",
    "pointer": "global const T *p = a + x * 72; for (int i = 0; i < n; i++, p++) s = s * (T)3 + *p;",
    "backwards": "global const T *p = a + x * 72; for (int i = n; i > 0; i--) s = s * (T)3 + *p++;",
    "down to one": "global const T *p = a + x * 72; for (int i = n; i >= 1; i -= 1) s = s * (T)3 + *p++;",
    "unsigned": "for (uint i = 0; i < (uint)n; i++) s = s * (T)3 + a[x * 72 + i];",
    "long": "for (long i = 0; i < n; i++) s = s * (T)3 + a[(long)x * 72 + i];",
    "row": "global const T *row = a + x * 72; for (int i = 0; i < n; i++) s = s * (T)3 + row[i];",
    "some lanes": "if (x % 5 != 1) for (int i = 0; i < n; i++) s = s * (T)3 + a[x * 72 + i];",
    "a branch behind it": "for (int i = 0; i < n; i++) { T v = a[x * 72 + i]; if (v > (T)1) s = s * (T)3 + v; }",
    "within another": """for (int j = 0; j < 3; j++) for (int i = j; i < n; i++) s = s * (T)3 + a[x * 72 + i];""",
}
"""Loops whose loads walk."""
OTHERS = {
    "left early": "for (int i = 0; i < n; i++) { if (i == 5) break; s = s * (T)3 + a[x * 72 + i]; }",
    "in some iterations": "for (int i = 0; i < n; i++) if (i % 3 == 0) s = s * (T)3 + a[x * 72 + i];",
    "by some lanes": "for (int i = 0; i < n; i++) if ((i + x) % 3 == 0) s = s * (T)3 + a[x * 72 + i];",
    "in the test": "for (int i = 0; i < n && a[x * 72 + i] < (T)4; i++) s = s * (T)3 + (T)1;",
    "two apart": "for (int i = 0; i < n; i++) s = s * (T)3 + a[x * 72 + i * 2];",
    "written": "for (int i = 0; i + 1 < n; i++) { same[x * 72 + i + 1] = s; s = s * (T)3 + same[x * 72 + i]; }",
    "volatile": "volatile global const T *v = a; for (int i = 0; i < n; i++) s = s * (T)3 + v[x * 72 + i];",
    "each its own number": "for (int i = 0; i < n - (x & 3); i++) s = s * (T)3 + a[x * 72 + i];",
}
"""Loops whose loads must wait for their turn."""


class Loop:
    """A loop built once for a device, to be launched with several numbers of rounds."""

    def __init__(self, body, type, checks, local=32, emitter=""):
        self.device = open_device(f"sim:adreno-740,checks={checks},cache=false{emitter}")
        self.kernel = self.device.build(KERNEL.format(body=body), f"-DT={type} -DT4={type}4")["k"]
        self.local = local
        a = np.random.default_rng(7).integers(0, 6, COUNT * PITCH).astype(TYPES[type])
        self.data = (a, np.zeros(COUNT, a.dtype), a)
        self.views = [self.device.view(self.device.allocate(d.nbytes), BufferSpec(d.nbytes, d.dtype.name)) for d in self.data]

    def run(self, rounds):
        for view, data in zip(self.views, self.data, strict=True):
            self.device.write(view, data)
        a, d, same = self.views
        result = self.device.launch(self.kernel, (COUNT, 1, 1), (self.local, 1, 1), [a, d, np.int32(rounds), same])
        assert not result.findings
        return self.device.read(d), self.device.read(same), "".join(code.text for code in result.code)


def run(body, type, rounds, checks):
    return Loop(body, type, checks).run(rounds)


def is_served(text):
    return "@transpose_rows." in text


VECTORS = """for (int i = 0; i < n / 4; i++) {
  T4 v = *(global const T4 *)(a + x * 72 + i * 4); s = s * (T)3 + v.x + v.y * (T)2 + v.z * (T)5 + v.w * (T)7; }"""
EVERY = {**WALKS, **OTHERS, "vectors": VECTORS}
CASES = [
    pytest.param(name, type, marks=[pytest.mark.slow] if (at + kind) % 6 else [])
    for at, name in enumerate(EVERY)
    for kind, type in enumerate(TYPES)
]
"""Each loop with one of the types, each type in some of the loops; all others are slow."""


@pytest.mark.each_value
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", [*WALKS, "vectors"])
def test_these_walk(name, type):
    if not objects.machine().processor.masks_bytes and type not in ("int", "float", "long"):
        pytest.skip("this processor has no masks of bytes")
    assert is_served(run(EVERY[name], type, 20, "bounds")[2])


@pytest.mark.parametrize("name", [*WALKS, "vectors"])
def test_iterations_that_columns_serve_become_one(name, capfd):
    """LLVM says on standard error if it cannot do what a loop asks for."""
    text = run(EVERY[name], "float", 20, "bounds")[2]
    assert text.count("llvm.loop.unroll.count") == 1
    assert ".inline(" in text
    assert capfd.readouterr().err == ""


def test_large_loops_stay(capfd):
    taken = " + ".join(f"a[x * 72 + i + {at}] * s" for at in range(20))
    text = run(f"for (int i = 0; i < n; i++) s += {taken};", "int", 20, "bounds")[2]
    assert is_served(text)
    assert "llvm.loop" not in text
    assert ".inline(" not in text


@pytest.mark.parametrize("name", OTHERS)
def test_these_load_when_their_turn_comes(name):
    assert not is_served(run(OTHERS[name], "float", 20, "bounds")[2])


@pytest.mark.share(3)
@pytest.mark.parametrize(("name", "type"), CASES)
def test_values_are_those_of_one_work_item_after_the_other(name, type):
    scalar = Loop(EVERY[name], type, "bounds", emitter=",emitter=scalar")
    cases = (("off", 32), ("bounds", 32), ("bounds", 12), ("full", 16))
    vectors = {case: Loop(EVERY[name], type, *case) for case in cases}
    for rounds in (0, 1, 3, 15, 16, 17, 35, 36):
        wanted = scalar.run(rounds)[:2]
        for case, loop in vectors.items():
            for one, other in zip(loop.run(rounds)[:2], wanted, strict=True):
                np.testing.assert_array_equal(one, other, f"{rounds} rounds, checks and group {case}")


def test_a_sum_by_numpy():
    found, same, _ = run("for (int i = 0; i < n; i++) s += a[x * 72 + i];", "int", 37, "bounds")
    np.testing.assert_array_equal(found, same.reshape(COUNT, PITCH)[:, :37].sum(1))


@pytest.mark.parametrize("checks", ["off", "bounds"])
def test_nothing_behind_the_last_element_is_read(checks):
    """The last row ends where the buffer does."""
    found, same, text = run("for (int i = 0; i < n; i++) s = s * (T)3 + a[x * 72 + i];", "int", PITCH, checks)
    rows, wanted = same.reshape(COUNT, PITCH), np.zeros(COUNT, np.int32)
    for column in range(PITCH):
        wanted = wanted * np.int32(3) + rows[:, column]
    assert is_served(text)
    np.testing.assert_array_equal(found, wanted)


def test_an_element_behind_the_end_is_found():
    device = open_device("sim:adreno-740,checks=bounds,cache=false")
    source = KERNEL.format(body="for (int i = 0; i < n; i++) s += a[x * 72 + i];")
    kernel = device.build(source, "-DT=int")["k"]
    views = [device.view(device.allocate(size), BufferSpec(size, "int32")) for size in (COUNT * PITCH * 4, COUNT * 4)]
    for view, size in zip(views, (COUNT * PITCH, COUNT), strict=True):
        device.write(view, np.ones(size, np.int32))
    result = device.launch(kernel, (COUNT, 1, 1), (32, 1, 1), [*views, np.int32(PITCH + 1), views[0]])
    assert [f.kind for f in result.findings]
    assert result.findings[0].work_item.global_id == (COUNT - 1, 0, 0)


def test_many_loads_take_a_bounded_part_of_the_stack():
    taken = " + ".join(f"a[x * 72 + i + {at}]" for at in range(40))
    found, same, text = run(f"for (int i = 0; i < n; i++) s += {taken};", "int", 32, "bounds")
    rows = same.reshape(COUNT, PITCH)
    np.testing.assert_array_equal(found, sum(rows[:, at : at + 32].sum(1) for at in range(40)))
    assert 0 < text.count("call void @transpose_rows.") <= 64
