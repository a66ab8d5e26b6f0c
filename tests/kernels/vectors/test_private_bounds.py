"""Accesses beyond the ends of private arrays, in vectors: code of checks that itself reads beyond them would let LLVM conclude
that the index is in range, and remove the check. Each kernel with its clean twin, for all numbers of lanes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from processors import SMALLER

import adreno_sim
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import compiled_kernel

ITEMS, LENGTH = 128, 4
MISSED, UNWRITTEN = "out-of-bounds-read", "uninitialized-read"
Launch = Callable[..., tuple[dict[str, int], np.ndarray]]


@pytest.fixture(params=[None, *SMALLER], ids=["this", *(cpu for cpu, _ in SMALLER)])
def launch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launch]:
    """Launches a kernel on some processor's code. Returns how often each kind was found, and what is in the buffer then."""
    if request.param is not None:
        monkeypatch.setattr(objects, "_machine", objects.Machine(*request.param))
        monkeypatch.setattr(compiled_kernel, "_compiled", type(compiled_kernel._compiled)())

    def run(source: str, local: int, *scalars: Any, checks: str = "full") -> tuple[dict[str, int], np.ndarray]:
        device = adreno_sim.open_device("sim:reference", checks=checks, cache=False)
        view = device.view(device.allocate(4 * ITEMS), BufferSpec(4 * ITEMS, "int32"))
        device.write(view, np.full(ITEMS, -1, np.int32))
        found = device.launch(device.build(source, "-cl-std=CL2.0")["k"], (ITEMS,), (local,), [view, *scalars]).findings
        return {finding.kind.label: finding.count for finding in found}, device.read(view)

    yield run


def source_of(type: str, offset: int, some: bool, written: bool) -> str:
    """Sums four elements from `offset` on of an array of four. The sum is stored, which is one use of what is missing."""
    return f"""kernel void k(global int *out) {{ int i = get_global_id(0); {type} s = 0, a[{LENGTH}];
      {f"for (int j = 0; j < {LENGTH}; ++j) a[j] = ({type})(j + (i & 15));" if written else ""}
      {"if (i & 1)" if some else ""} for (int j = 0; j < {LENGTH}; ++j) s += a[j + {offset}];
      out[i] = (int)s{".w" if type.endswith("4") else ""}; }}"""


def wanted_of(offset: int, some: bool, written: bool) -> tuple[dict[str, int], np.ndarray]:
    i = np.arange(ITEMS, dtype=np.int32)
    runs = i[i & 1 == 1] if some else i
    inside = [j for j in range(offset, offset + LENGTH) if 0 <= j < LENGTH]
    found = {MISSED: (LENGTH - len(inside)) * len(runs), UNWRITTEN: 0 if written else len(runs)}
    out = np.zeros(ITEMS, np.int32)
    if written:
        out[runs] = sum(j + (runs & 15) for j in inside)
    return {kind: count for kind, count in found.items() if count}, out


EVERY = list(itertools.product([0, 1, 2, -1], [True, False], [True, False]))
FEW = [(0, True, True), (1, True, True), (-1, False, False)]


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("type", "local", "cases"),
    [
        ("int", 16, EVERY),
        *(("int", local, FEW) for local in (13, 64)),
        *((type, 32, FEW) for type in ("short", "char", "float4")),
    ],
)
def test_reads_at_offsets_that_all_work_items_share(launch, type, local, cases):
    for offset, some, written in cases:
        found, out = launch(source_of(type, offset, some, written), local)
        wanted, values = wanted_of(offset, some, written)
        assert found == wanted, (offset, some, written)
        np.testing.assert_array_equal(out, values, f"{offset} {some} {written}")


@pytest.mark.share()
@pytest.mark.each_value
@pytest.mark.parametrize("checks", ["bounds", "full"])
@pytest.mark.parametrize("type", ["int", "uchar", "float4"])
def test_writes_at_offsets_that_all_work_items_share(launch, type, checks):
    first = "a[0].x" if type == "float4" else "a[0]"
    for past, some in itertools.product([0, 1], [True, False]):
        source = f"""kernel void k(global int *out) {{ int i = get_global_id(0); {type} a[{LENGTH}];
          {"if (i & 1)" if some else ""} for (int j = 0; j < {LENGTH}; ++j) a[j + {past}] = ({type})(7);
          {f"for (int j = 0; j < {LENGTH}; ++j)" if not some else ""} a[0] = a[1]; out[i] = i + ({first} > 7); }}"""
        found, out = launch(source, 32, checks=checks)
        runs = ITEMS // 2 if some else ITEMS
        assert found.get("out-of-bounds-write", 0) == past * runs, (past, some)
        assert found.get(UNWRITTEN, 0) == (runs if some and checks == "full" else 0)
        np.testing.assert_array_equal(out, np.arange(ITEMS))


APART = {  # body, with `past` elements too many; whether the work-items of odd number alone access
    "each at an index of its own": "int a[8]; for (int j = 0; j < 8; ++j) a[j] = i; out[i] = a[(i & 7) + past];",
    "an array in a struct": (
        "struct { char c; int x[8]; } s; s.c = 1; for (int j = 0; j < 8; ++j) s.x[j] = i; out[i] = s.x[(i & 7) + past] * s.c;"
    ),
    "in a branch": "short a[8]; for (int j = 0; j < 8; ++j) a[j] = i; out[i] = i; if (i & 1) out[i] = a[(i & 7) + past];",
    "a vector": "int a[8]; for (int j = 0; j < 8; ++j) a[j] = i; out[i] = vload4(1, a + past * (i & 1)).w;",
}


@pytest.mark.parametrize("name", APART)
def test_reads_at_offsets_of_each_work_item(launch, name):
    for past in (0, 1):
        source = f"kernel void k(global int *out, int past) {{ int i = get_global_id(0); {APART[name]} }}"
        found, out = launch(source, 32, np.int32(past))
        i = np.arange(ITEMS)
        failing = (i & 1 == 1) if name == "a vector" else (i & 7) == 7
        assert found == ({MISSED: int(failing.sum())} if past else {})
        np.testing.assert_array_equal(out, np.where(failing & bool(past), 0, i))


def test_what_no_work_item_reaches_is_no_access_at_all(launch):
    """What is proven there by contradicting conditions holds for work-items, not for code that runs with none of them at work."""
    source = f"""kernel void k(global int *out) {{ int i = get_global_id(0), a[{LENGTH}] = {{1, 2, 3, 4}}, s = 0;
      if (i > 70) if (i < 60) {{ a[LENGTH + 3] = i; s = a[LENGTH + 5]; }}
      out[i] = a[i & 3] + s; }}""".replace("LENGTH", str(LENGTH))
    found, out = launch(source, 64)
    assert not found
    np.testing.assert_array_equal(out, np.arange(ITEMS) % LENGTH + 1)


def test_rows_of_constants_are_not_read_beyond_their_end(launch):
    source = """constant uchar t[5] = {1, 2, 3, 4, 5};
      kernel void k(global int *out) { int i = get_global_id(0), l = get_local_id(0); if (l < 5) out[i] = t[l]; }"""
    found, out = launch(source, 16)
    assert not found
    lane = np.arange(ITEMS) % 16
    np.testing.assert_array_equal(out, np.where(lane < 5, lane + 1, -1))
