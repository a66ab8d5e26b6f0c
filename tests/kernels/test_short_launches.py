"""Which launches are proven to end soon, by their arguments and their grid, and which are not."""

from __future__ import annotations

import numpy as np
import pytest
from in_range_cases import ITEMS
from in_range_checks import launch_of

from adreno_sim import open_device
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.analysis.loop_bounds import needs_no_watchdog
from adreno_sim.engine.prove.in_range import AccessAnalysis
from adreno_sim.engine.prove.short_launch import ends_soon

ENDING = {
    "no loop": "a[i] = 1;",
    "to a constant": "for (int j = 0; j < 100; j++) a[i] += j;",
    "to an argument": "for (int j = 0; j < n; j++) a[i] += j;",
    "down to an argument": "for (int j = 100; j > n; j -= 3) a[i] += j;",
    "by the grid": "for (int j = i; j < 3000; j += get_global_size(0)) a[i] += j;",
    "by an argument": "for (int j = 0; j < 1000; j += n) a[i] += j;",
    "by at least one": "for (int j = 0; j < 1000; j += 1 + (i & 3)) a[i] += j;",
    "by one or two": "for (int j = 0; j < 1000;) { if (b[j & 7]) j++; else j += 2; a[i] += j; }",
    "to a limited number": "for (int j = 0; j < min(b[i & 7], 50); j++) a[i] += j;",
    "over columns and rows": "for (int y = 0; y < n; y++) for (int x = y; x < n; x++) a[i] += x * y;",
    "that leaves early": "for (int j = 0; j < n; j++) if (b[j & 7] > 5) break;",
    "by two counters": "for (int j = 0, k = b[0]; j < n; j++, k *= 3) a[i] += k;",
    "that halves": "for (int j = n; j > 0; j /= 2) a[i] += j;",
    "with a barrier": "for (int j = 0; j < n; j++) { barrier(CLK_GLOBAL_MEM_FENCE); a[i] += j; }",
    "of unsigned numbers": "for (uint j = 0; j < u; j++) a[i] += j;",
    "of long numbers": "for (long j = i; j < n * 10; j += 2) a[i] += j;",
    "until it does": "int j = 0; do { a[i] += j; } while (++j < n);",
    "inside one that does not run": "for (int j = 5; j < 5; j++) while (b[i & 7]) ;",
}
OPEN = {
    "to what memory holds": "for (int j = 0; j < b[i & 7]; j++) a[i] += j;",
    "until memory changes": "while (b[i & 7]) a[i]++;",
    "for ever": "for (;;) a[i]++;",
    "by zero": "for (int j = 0; j < 10; j += n - 7) a[i] += j;",
    "by zero, perhaps": "for (int j = 0; j < 1000; j += i & 3) a[i] += j;",
    "that goes on": "for (int j = 0; j != 7; j += 2) a[i] += j;",
    "that wraps": "for (uint j = 5; j < u + 0x7ffffff0u; j += 0x10000000u) a[i] += j;",
    "to and fro": "for (int j = 0; j < n; j += b[j & 7] ? 1 : -1) a[i] += j;",
    "too long": "for (int j = 0; j < n * 100000000; j++) a[i] += j;",
    "too long together": "for (int j = 0; j < n * 1000; j++) for (int k = 0; k < n * 1000; k++) a[i] += k;",
    "inside a short one": "for (int j = 0; j < n; j++) while (b[i & 7]) a[i]++;",
    "around a short one": "while (b[i & 7]) for (int j = 0; j < n; j++) a[i] += j;",
    "by a goto": "int j = 0; again: if (b[j & 7]) goto middle; j++; middle: a[i]++; if (j < n) goto again;",
}


def is_short(body: str, items: int = ITEMS) -> bool:
    source = f"kernel void k(global int *a, global const int *b, int n, uint u) {{ int i = get_global_id(0); {body} }}"
    kernel, *launch = launch_of(source, 4096, items)
    return needs_no_watchdog(kernel) or ends_soon(AccessAnalysis(kernel, *launch))


@pytest.mark.parametrize("name", ENDING)
def test_what_ends_soon(name):
    assert is_short(ENDING[name])


@pytest.mark.parametrize("name", OPEN)
def test_what_may_go_on(name):
    assert not is_short(OPEN[name])


@pytest.mark.parametrize("emitter", ["spmd", "scalar"])
def test_code_of_a_launch_that_ends_soon_looks_at_no_flag(emitter):
    """That of one that may go on does, and both give the same."""
    source = "kernel void k(global int *a, int n) { int i = get_global_id(0); for (int j = 0; j < n; j++) a[i] += i & j; }"
    device = open_device("sim:adreno-740", cache=False, emitter=emitter)
    kernel, seen = device.build(source)["k"], []
    for items in (64, 1 << 14):
        view = device.view(device.allocate(items * 4), BufferSpec(items * 4, "int32"))
        device.write(view, np.zeros(items, np.int32))
        (code,) = device.launch(kernel, (items, 1, 1), (64, 1, 1), [view, np.int32(20_000)]).code
        region = code.text.partition("@region.0(")[2].partition("\n}")[0]
        seen.append("monotonic" in region)
        wanted = (np.arange(items)[:, None] & np.arange(20_000)).sum(1) if items == 64 else None
        assert wanted is None or (device.read(view) == wanted).all()
    assert seen == [False, True]


def test_many_work_items_may_do_less_each():
    body = "for (int j = 0; j < n * 1000; j++) a[i] += j;"
    assert is_short(body, 1 << 14)
    assert not is_short(body, 1 << 16)
