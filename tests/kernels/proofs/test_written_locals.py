"""Vector code of level full marks nothing in local arrays if only written bytes are read: which these are.

The code of one work-item after the other is the judge: it marks each byte that is written, and looks at the marks of each read.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adreno_sim import open_device
from adreno_sim.backends.sim.device import SimDevice
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.prove import executions, written_locals

GROUPS, FLOATS = 3, np.arange(1024, dtype=np.float32)
LINE, PLANE = (64, 1), (16, 4)
WAIT = "barrier(CLK_LOCAL_MEM_FENCE);"
TREE = f"for (int n = 32; n > 0; n >>= 1) {{ if (l < n) s[l] += s[l + n]; {WAIT} }}"
FILL = "for (int n = l; n < 100; n += 64) s[n] = b[n];"
EACH = "for (int k = 0; k < 3; k++)"


def launch(emitter: str, body: str, local_size: tuple[int, int], count: int) -> tuple[bool, list[Any], bytes]:
    """Whether the array is proven to be written before it is read; the findings, and the result."""
    source = (
        f"kernel void k(global float *a, global const float *b, int three) {{ local float s[{count}]; "
        "int l = get_local_id(0), x = get_local_id(0), y = get_local_id(1), i = get_global_id(0), g = get_group_id(0);"
        f"{body} }}"
    )
    device = open_device("sim:adreno-740", checks="full", cache=False, emitter=emitter)
    assert isinstance(device, SimDevice)
    spec = BufferSpec(FLOATS.nbytes, "float32")
    views = [device.view(device.allocate(FLOATS.nbytes), spec) for _ in range(2)]
    for view in views:
        device.write(view, FLOATS)
    grid = (GROUPS * local_size[0], local_size[1])
    prepared = device.prepare(device.build(source, "-cl-std=CL2.0")["k"], grid, local_size, [*views, np.int32(3)])
    assert prepared.config.analysis is not None
    found = device.run_prepared(prepared).findings
    return bool(prepared.config.analysis.proven.proofs.written_locals), found, device.read(views[0]).tobytes()


KERNELS = {  # body; work-items of a group; elements of the array; whether it is proven; whether something is read unwritten
    "each its own": (f"s[l] = b[i]; {WAIT} a[i] = s[63 - l];", LINE, 64, True, False),
    "a tree": (f"s[l] = b[i]; {WAIT} {TREE} if (l == 0) a[g] = s[0];", LINE, 64, True, False),
    "one after the other": ("s[l] = b[i]; a[i] = s[l];", LINE, 64, False, False),
    "a tile in each iteration": (
        f"{EACH} {{ s[y * 16 + x] = b[k * 64 + y * 16 + x]; {WAIT} a[i] += s[x]; {WAIT} }}", PLANE, 64, True, False,
    ),
    "read before the tile": (
        f"{EACH} {{ {WAIT} a[g * 64 + y * 16 + x] += s[y * 16 + x]; s[y * 16 + x] = b[x]; {WAIT} }}", PLANE, 64, False, True,
    ),
    "a loop that fills all": (f"{FILL} {WAIT} a[i] = s[99 - l];", LINE, 100, True, False),
    "a loop that leaves one out": (f"{FILL} {WAIT} a[i] = s[100 - l];", LINE, 101, False, True),
    "a loop that may end early": (
        f"for (int n = l; n < 100; n += 64) {{ if (b[n] > 98) break; s[n] = b[n]; }} {WAIT} a[i] = s[99 - l];",
        LINE, 100, False, True,
    ),
    "a loop that leaves some out": (
        f"for (int n = l; n < 100; n += 64) {{ if (b[n] > 98) continue; s[n] = b[n]; }} {WAIT} a[i] = s[99 - l];",
        LINE, 100, False, True,
    ),
    "a loop in a loop": (
        f"for (int m = y; m < 6; m += 4) for (int n = x; n < 20; n += 16) s[m * 20 + n] = b[n]; {WAIT} a[i] = s[119 - x];",
        PLANE, 120, True, False,
    ),
    "rows with room between": (
        f"s[y * 17 + x] = b[i]; {WAIT} for (int n = 0; n < 16; n++) a[i] += s[y * 17 + n];", PLANE, 68, True, False,
    ),
    "rows with room between, read": (
        f"s[y * 17 + x] = b[i]; {WAIT} for (int n = 0; n < 17; n++) a[i] += s[y * 17 + n];", PLANE, 68, False, True,
    ),
    "of the first work-item": (f"if (l == 0) s[0] = b[g]; {WAIT} a[i] = s[0];", LINE, 1, True, False),
    "of none": (f"if (l == 64) s[0] = b[g]; {WAIT} a[i] = s[0];", LINE, 1, False, True),
    "of the first group": (f"if (g == 0) s[l] = b[i]; {WAIT} a[i] = s[l];", LINE, 64, False, True),
    "of two halves": (f"if (l < 32) s[l] = 1; else s[95 - l] = 2; {WAIT} a[i] = s[63 - l];", LINE, 64, True, False),
    "of two halves, one too few": (
        f"if (l < 31) s[l] = 1; if (l >= 32) s[95 - l] = 2; {WAIT} a[i] = s[63 - l];", LINE, 64, False, True,
    ),
    "if data says so": (f"if (b[l] < 63) s[l] = b[i]; {WAIT} a[i] = s[63 - l];", LINE, 64, False, True),
    "in a loop that is perhaps not run": (
        f"for (int k = 3; k < three; k++) {{ s[l] = b[i]; {WAIT} }} a[i] = s[63 - l];", LINE, 64, False, True,
    ),
    "behind a barrier on one way": (
        f"if (three == 4) {{ s[l] = b[i]; {WAIT} }} a[i] = s[63 - l];", LINE, 64, False, True,
    ),
    "byte by byte": (
        f"for (int k = 0; k < 4; k++) ((local char *)s)[4 * l + k] = k; {WAIT} a[i] = s[63 - l];", LINE, 64, True, False,
    ),
    "three bytes of four": (
        f"for (int k = 0; k < 3; k++) ((local char *)s)[4 * l + k] = k; {WAIT} a[i] = s[63 - l];", LINE, 64, False, True,
    ),
    "vectors of three": (f"if (l < 16) vstore3((float3)(l), l, s); {WAIT} a[i] = s[47 - l % 48];", LINE, 64, True, False),
    "vectors of three, and what is behind them": (
        f"if (l < 16) vstore3((float3)(l), l, s); {WAIT} a[i] = vload4(l % 16, s).x;", LINE, 64, False, True,
    ),
    "halves with room between": (
        f"if (l < 16) vstorea_half3((float3)(l), l, (local half *)s); {WAIT} a[i] = vloada_half3(l % 16, (local half *)s).z;",
        LINE, 32, True, False,
    ),
    "halves with room between, read": (
        f"if (l < 16) vstorea_half3((float3)(l), l, (local half *)s); {WAIT} a[i] = vload_half(l, (local half *)s);",
        LINE, 32, False, True,
    ),
    "from the end on": (f"local float *p = s + 64; p[-1 - l] = l; {WAIT} a[i] = s[l];", LINE, 64, True, False),
    "from the end on, but for the first": (
        f"local float *p = s + 64; if (l < 63) p[-1 - l] = l; {WAIT} a[i] = s[l];", LINE, 64, False, True,
    ),
    "a jump over what another line writes": (
        f"if (l == 5) goto other; s[l] = 1; goto on; other: s[l] = 2; on: ; {WAIT} a[i] = s[63 - l];", LINE, 64, True, False,
    ),
    "a jump over what nothing else writes": (
        f"if (l == 5) goto on; s[l] = 1; on: ; {WAIT} a[i] = s[63 - l];", LINE, 64, False, True,
    ),
    "rows of shrinking length": (
        f"for (int m = 0; m < 4; m++) for (int n = l; n < 16 - m; n += 64) s[m * 16 + n] = n; {WAIT} a[i] = s[63 - l];",
        LINE, 64, False, True,
    ),
    "in the iteration before": (
        f"{EACH} {{ if (k) a[i] += s[63 - l]; {WAIT} s[l] = b[i]; {WAIT} }}", LINE, 64, False, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_proven_and_what_is_found(name: str) -> None:
    body, local_size, count, proven, unwritten = KERNELS[name]
    assert check(body, local_size, count) == (proven, unwritten)


def check(body: str, local_size: tuple[int, int], count: int) -> tuple[bool, bool]:
    """Compares with the code of one work-item. Returns whether the array is proven to be written before it is read, and whether
    something is read that was not."""
    ours, findings, values = launch("spmd", body, local_size, count)
    theirs, others, expected = launch("scalar", body, local_size, count)
    assert ours is theirs
    assert findings == others
    assert values == expected
    unwritten = "uninitialized-read" in {finding.kind.label for finding in findings}
    assert not (ours and unwritten)
    return ours, unwritten


def random_kernel(seed: int) -> tuple[str, tuple[int, int], int]:
    """A group that fills an array in a loop or two, mostly all of it, and reads it behind a barrier; by a seed."""
    pick = random.Random(seed)
    local_size = pick.choice([(64, 1), (16, 4), (32, 2), (8, 8)])
    item, items, count = f"(y * {local_size[0]} + x)", 64, pick.choice([40, 64, 65, 100, 130, 200])
    bound = count - pick.choice([0, 0, 0, 1, 3])
    test = pick.choice(["n < {0}", "n <= {0} - 1", "!(n >= {0})", "{0} > n"]).format(bound)
    at = pick.choice(["n", f"{bound} - 1 - n", f"(n % 4) * {bound // 4} + n / 4" if bound % 4 == 0 else "n"])
    step = pick.choice([items, items, items, items // 2, items + 1])
    begin = pick.choice([item, item, f"{item} + 0 * g", f"{item} + 1"])
    store = f"s[{at}] = b[n];"
    if pick.random() < 0.3:
        store = pick.choice(["if (n != 7) {}", "if (n >= 0) {}", "if (n < 30) {0} else {0}", "if (b[n] >= 0) {}"]).format(store)
    fill = f"for (int n = {begin}; {test}; n += {step}) {{ {store} }}"
    if pick.random() < 0.3:
        fill = pick.choice(["if (x >= 0) {{ {} }}", "if (g < 2) {{ {} }}", "if (three > 2) {{ {} }}"]).format(fill)
    last = pick.choice([count, bound, bound]) - 1
    read = f"for (int n = 0; n < 3; n++) a[g * 64 + {item}] += s[min({item} + n, {last})];"
    inside = f"{fill} {WAIT} {read}"
    if pick.random() < 0.4:
        inside = f"{EACH} {{ {inside} {WAIT} }}"
    return inside, local_size, count


@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(100, 500, 100))])
def test_random_kernels(start: int) -> None:
    count, proven = 6 if not start else 100, 0
    for seed in range(start, start + count):
        body, local_size, size = random_kernel(seed)
        try:
            proven += check(body, local_size, size)[0]
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{body}\n{local_size}, {size} elements") from None
    assert 0 < proven < count, f"{proven} of {count} are proven"


def test_a_kernel_with_more_accesses_than_are_looked_at_keeps_its_marks(monkeypatch):
    body = f"s[l] = b[i] {{}}; {WAIT} a[i] = s[63 - l];"
    assert launch("spmd", body.format("+ 7"), LINE, 64)[0]
    monkeypatch.setattr(written_locals, "_STEPS", (1, 0))  # there are two: a load and a store
    is_proven, *found = launch("spmd", body.format("+ 8"), LINE, 64)
    assert not is_proven
    assert found == list(launch("scalar", body.format("+ 8"), LINE, 64)[1:])


def test_a_number_that_others_are_made_of_is_computed_once(monkeypatch):
    """Each number is a sum of two floors of the one before: as a tree there are a million of them."""
    computed = list[int]()
    of_symbol = executions._Values._of_symbol

    def count(values: executions._Values, symbol: int, depth: int) -> Any:
        computed.append(symbol)
        return of_symbol(values, symbol, depth)

    monkeypatch.setattr(executions._Values, "_of_symbol", count)
    smaller = "n = n / 3 + n / 5;" * 20
    assert check(f"uint n = l << 22; {smaller} s[n] = 1; {WAIT} a[i] = s[l];", LINE, 1024) == (False, True)
    assert 20 < len(computed) < 200
