"""Code that only raises a flag, and is run again with reports where it did: nothing tells it from code that reports at once."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from direct_launch import launch_kernel

from adreno_sim.engine.abi.bound import BoundBuffer
from adreno_sim.engine.abi.specialization import BufferArg, Specialization
from adreno_sim.engine.run import launch, launch_analysis, optimistic
from adreno_sim.frontend.program import FrontEndTarget, compile_source

CASES = {
    "in place, past the end": "a[i] = a[i] * 2 + a[i + 3];",
    "in place, before the start": "if (i > 0) a[i - 1] += b[i]; a[i - 1] = a[i] + 1;",
    "atomics": "atomic_add(a + (i & 7), i); atomic_sub(a + i * 9, 1); b[i] = 1;",
    "printf": 'if (i % 5 == 0) printf("%d %d\\n", i, a[i + 60]); a[i] += 1;',
    "division": "a[i] = (a[i] + 9) / b[i];",
    "misaligned": "a[i] = *(__global int *)((__global char *)b + i);",
    "local": "__local int t[16]; t[get_local_id(0) + 1] = a[i]; barrier(CLK_LOCAL_MEM_FENCE); a[i] = t[get_local_id(0)];",
    "copied": "int t[4]; t[i % 6] = a[i]; a[i] = t[0] + t[i % 5];",
    "loop": "int s = 0; for (int j = 0; j < 9; ++j) s += b[i + j]; a[i] += s;",
}


def outcome(engine, monkeypatch, body: str, fast: bool):
    monkeypatch.setattr(optimistic, "SNAPSHOT_LIMIT", 1 << 20 if fast else -1)
    launch_analysis._analyses.clear()
    source = f"__kernel void k(__global int *a, __global int *b) {{ int i = get_global_id(0); {body} }}"
    values = np.arange(64, dtype=np.int32)
    a, b = oracle.Buffer(values), oracle.Buffer(values[::-1] // 3 * 4)
    return engine.run(source, "k", (64,), (16,), [a, b], threads=1)


@pytest.mark.parametrize("name", CASES)
def test_values_findings_and_text_are_those_of_reporting_code(engine, monkeypatch, name):
    exact = outcome(engine, monkeypatch, CASES[name], False)
    fast = outcome(engine, monkeypatch, CASES[name], True)
    assert exact.findings
    assert fast.findings == exact.findings
    assert fast.printed == exact.printed
    for mine, other in zip(fast.outputs, exact.outputs, strict=True):
        np.testing.assert_array_equal(mine, other)


def compiled(body: str, **options):
    source = f"__kernel void k(__global int *a, __global int *b) {{ int i = get_global_id(0); {body} }}"
    module = compile_source(source, "", target=FrontEndTarget())
    return module.kernels["k"], Specialization(local_size=(16, 1, 1), args=(BufferArg(), BufferArg()), **options)


def test_views_that_overlap_are_restored():
    """What is written through `b` is read through `a`, past whose end the kernel also reads."""
    kernel, key = compiled("b[i] = a[i] + a[i + 1];")
    results = []
    for limit in (-1, 1 << 20):
        memory, address = launch.zeroed_aligned(4096)
        memory.view(np.int32)[:] = np.arange(1024)
        args = [BoundBuffer(address, 64), BoundBuffer(address, 64)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(optimistic, "SNAPSHOT_LIMIT", limit)
            found = launch_kernel(kernel, key, (16, 1, 1), (0, 0, 0), args, threads=1).findings
        results.append((memory.copy(), found))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
    assert results[0][1][0].access.offset == 64


def test_only_what_is_read_and_written_is_copied():
    args = [BoundBuffer(1024, 64), BoundBuffer(2048, 64)]
    overlapping = [BoundBuffer(1024, 64), BoundBuffer(1056, 64)]
    for body, copied, shared in (
        ("b[i] = a[i];", [], [(1056, 64)]),
        ("b[i] += a[i];", [(2048, 64)], [(1056, 64)]),
        ("b[i] = 1; a[i] = 2;", [], []),
        ("vstore4((int4)(1), i, b);", [], []),
        ("atomic_add(b, a[i]);", [(2048, 64)], [(1056, 64)]),
        ("__global int *p = i > 3 ? a : b; *p = 1; b[1] = *p;", [(1024, 64), (2048, 64)], [(1024, 64), (1056, 64)]),
    ):
        kernel, _ = compiled(body)
        assert optimistic.snapshot_ranges(kernel, args) == copied, body
        assert optimistic.snapshot_ranges(kernel, overlapping) == shared, body


def test_what_failed_once_reports_at_once(monkeypatch):
    kernel, key = compiled("b[i] = a[i + 1];")
    memory, address = launch.zeroed_aligned(128)
    runs = []
    run = launch.run
    monkeypatch.setattr(launch, "run", lambda *a, **k: runs.append(a[0].spec.deferred_checks) or run(*a, **k))
    for _ in range(2):
        args = [BoundBuffer(address, 64), BoundBuffer(address, 64)]
        assert launch_kernel(kernel, key, (16, 1, 1), (0, 0, 0), args).findings
    assert runs == [True, False, False]
    assert memory is not None


def test_an_endless_loop_past_a_failed_check_is_stopped_and_both_are_told():
    kernel, key = compiled("int x = a[i + 1000]; while (x == 0) x = b[0]; a[i] = x;")
    memory, address = launch.zeroed_aligned(256)
    args = [BoundBuffer(address, 64), BoundBuffer(address + 128, 64)]
    found = launch_kernel(kernel, key, (16, 1, 1), (0, 0, 0), args, timeout=0.3).findings
    assert {f.kind.label for f in found} == {"out-of-bounds-read", "watchdog"}
    assert not memory.any()


def test_an_unsigned_counter_that_falls_below_zero_is_stopped():
    kernel, key = compiled("for (uint j = 9; j >= 0u; --j) a[i] += j;")
    memory, address = launch.zeroed_aligned(256)
    args = [BoundBuffer(address, 64), BoundBuffer(address + 128, 64)]
    found = launch_kernel(kernel, key, (16, 1, 1), (0, 0, 0), args, timeout=0.3).findings
    assert [f.kind.label for f in found] == ["watchdog"]
    assert memory.any()


@pytest.mark.parametrize(
    ("body", "items", "executed", "proven"),
    [
        ("a[i] = b[i];", 16, 32, 32),
        ("for (int j = 0; j < 5; ++j) a[i] += b[j];", 16, 16 * 15, 16 * 15),
        ("if (i < 3) a[i] = 1; a[b[0]] = 2;", 16, 3 + 32, 3 + 16),
        ("__local int t[16]; t[i] = b[i]; barrier(CLK_LOCAL_MEM_FENCE); if (i > 9) vstore2(vload2(0, t), i - 8, a);", 16, 44, 44),
        ("a[i] = b[i + 1];", 16, 32, 16),
    ],
)
def test_executed_accesses_are_counted(body, items, executed, proven):
    kernel, key = compiled(body, count=True)
    owner, address = launch.zeroed_aligned(512)
    args = [BoundBuffer(address, 64), BoundBuffer(address + 256, 64)]
    for threads in (1, 2):
        counts = launch_kernel(kernel, key, (items, 1, 1), (0, 0, 0), args, threads=threads).accesses
        assert owner is not None
        assert counts is not None
        assert (counts.executed, counts.executed_proven) == (executed, proven)
    plain = launch_kernel(kernel, compiled(body)[1], (items, 1, 1), (0, 0, 0), args).accesses
    assert plain is not None
    assert plain.executed is None
    assert plain.places == counts.places
    assert (plain.proven_places == plain.places) == (executed == proven)
