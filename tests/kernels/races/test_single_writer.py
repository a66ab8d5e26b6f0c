"""Arguments that a launch writes without ever touching a byte twice: what is taken for one, what must not be, and that level
full finds the same whether or not it knows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adreno_sim
from adreno_sim.base.specs import BufferSpec, ImageSpec
from adreno_sim.device.protocol import Device
from adreno_sim.engine.prove import launch as launch_proofs
from adreno_sim.engine.prove.in_range import AccessAnalysis
from adreno_sim.engine.prove.single_writer import single_writer_args
from adreno_sim.engine.run import launch_analysis

HEAD = """kernel void k(global int *a, global const int *b, write_only image2d_t t) {
  int i = get_global_id(0), l = get_local_id(0), g = get_group_id(0), y = get_global_id(1); """
GLOBAL, LOCAL = (24, 4), (8, 2)

KERNELS = {  # what the kernel does, whether `a` (or the image) is exclusive
    "one element an item": ("a[i + 24 * y] = i;", True),
    "a coordinate is missing": ("a[i] = i;", False),
    "rows overlap": ("a[i + 23 * y] = i;", False),
    "rows with room between": ("a[i + 25 * y] = i;", True),
    "backwards": ("a[95 - i - 24 * y] = i;", True),
    "local id alone": ("a[l + 8 * y] = i;", False),
    "group and local id apart": ("a[l * 3 + g + 24 * y] = i;", True),
    "group and local id overlap": ("a[l * 2 + g + 24 * y] = i;", False),
    "vectors side by side": ("vstore4((int4)(i), i + 24 * y, a);", True),
    "vectors that overlap": ("vstore4((int4)(i), 0, a + i + 24 * y);", False),
    "several stores side by side": ("int p = 2 * (i + 24 * y); a[p] = i; a[p + 1] = i;", True),
    "several stores far apart": ("int p = i + 24 * y; a[p] = i; a[p + 96] = i; a[p + 192] = i;", True),
    "several stores that meet": ("int p = i + 24 * y; a[p] = i; a[p + 95] = i;", False),
    "several stores that meet those of the next row": ("int p = i + 40 * y; a[p] = i; a[p + 30] = i; a[p + 60] = i;", False),
    "the same element twice": ("int p = i + 24 * y; a[p] = i; a[p] = l;", False),
    "a loop over elements": ("for (int n = 0; n < 3; n++) a[(i + 24 * y) * 3 + n] = n;", True),
    "a loop over rows": ("for (int n = 0; n < 3; n++) a[i + 24 * y + 96 * n] = n;", True),
    "a loop over the same element": ("for (int n = 0; n < b[0]; n++) a[i + 24 * y] = n;", False),
    "a loop that goes too far": ("for (int n = 0; n < 4; n++) a[(i + 24 * y) * 3 + n] = n;", False),
    "the inner of two loops": ("for (int m = 0; m < 2; m++) for (int n = 0; n < 3; n++) a[(i + 24 * y) * 3 + n] = m;", False),
    "both of two loops": ("for (int m = 0; m < 2; m++) for (int n = 0; n < 2; n++) a[(i + 24 * y) * 4 + n + m * 2] = m;", True),
    "the last turn of a loop before": ("int n = 0; while (n < b[0] & n < 3) n++; a[(i + 24 * y) * 4 + n] = 1;", True),
    "one item of a group": ("if (get_local_id(1) == 0 && l == 0) a[g + 3 * get_group_id(1)] = 1;", True),
    "two items of a group": ("if (get_local_id(1) == 0 && l < 2) a[g + 3 * get_group_id(1)] = 1;", False),
    "kept apart by a guard": ("if (i < 20) a[i + 20 * y] = 1;", True),
    "not kept apart by a guard": ("if (i < 21) a[i + 20 * y] = 1;", False),
    "read besides": ("a[i + 24 * y] = a[i + 24 * y] + 1;", True),
    "a sum": ("int p = i + 24 * y; a[p] = 0; for (int n = 0; n < 3; n++) a[p] += n;", True),
    "a sum begun anew in a loop": ("int p = i + 24 * y; for (int n = 0; n < 3; n++) { a[p] = 0; a[p] += n; }", False),
    "a sum that is overwritten": ("int p = i + 24 * y; a[p] += 1; a[p] = 2;", False),
    "a sum begun on one way": ("int p = i + 24 * y; if (b[0] == 0) a[p] = 0; a[p] += 1;", True),
    "a sum under a guard": ("int p = i + 24 * y; if (i < 20) a[p] = 0; for (int n = 0; n < 3; n++) if (i < 20) a[p] += n;", True),
    "on one way or the other": ("int p = i + 24 * y; if (b[0] == 0) a[p] = 0; else a[p] = 1;", True),
    "on one way, then on all": ("int p = i + 24 * y; if (b[0] == 0) a[p] = 0; a[p] = 1;", False),
    "read once, written twice": ("int p = i + 24 * y; int v = a[p]; a[p] = v; a[p] = v + 1;", False),
    "what a neighbour writes": ("a[i + 24 * y] = a[i + 24 * y + 1];", False),
    "what another row writes": ("a[i + 24 * y] = 1; if (i < 3) a[i + 24 * y + 100] = a[i + 24 * (3 - y)];", False),
    "more than it writes": ("if (i < 3) a[i + 24 * y] = a[i + 23 * y];", False),
    "by one item, then by another": ("if (i == 0 && y == 0) a[5] = 1; if (i == 1 && y == 0) a[5] = 2;", False),
    "by one item, read by another": ("if (i == 0 && y == 0) a[5] = 1; if (i == 1 && y == 0) a[9] = a[5];", False),
    "by one item, read by itself": ("if (i == 1 && y == 0) a[5] = 1; if (i == 1 && y == 0) a[6] = a[5];", True),
    "atomic": ("atomic_add(a + i + 24 * y, 1);", False),
    "out of range": ("a[i + 24 * y + 400] = 1;", False),
    "through an element of another": ("a[b[i] & 63] = 1;", False),
    "far apart whatever the element": ("a[(i + 24 * y) * 4 + clamp(b[i], 0, 3)] = 1;", True),
    "texels": ("write_imagei(t, (int2)(i, y), (int4)(1));", True),
    "texels by quotient": ("int p = i + 24 * y; write_imagei(t, (int2)(p % 12, p / 12), (int4)(1));", True),
    "texels by digits of the local id": ("write_imagei(t, (int2)(2 * g + (l >> 2) + 6 * y, l & 3), (int4)(1));", True),
    "texels by some digits": ("write_imagei(t, (int2)(2 * g + (l >> 2) + 6 * y, l & 1), (int4)(1));", False),
    "texels by three digits": ("write_imagei(t, (int2)(g + 3 * y + 12 * (l & 1), (l >> 1 & 1) + l / 4 * 2), (int4)(1));", True),
    "texels by digits that meet": ("write_imagei(t, (int2)(g + 3 * y + 12 * (l & 1), (l >> 1 & 1) + l / 4), (int4)(1));", False),
    "texels by digits of no chain": ("write_imagei(t, (int2)(g + 3 * y, l / 2 + l / 3), (int4)(1));", False),
    "texels by quotients twice": ("int p = i + 24 * y; write_imagei(t, (int2)(p % 12, (12 * y + i / 2) / 6), (int4)(1));", True),
    "texels by two quotients": ("int p = i + 24 * y; write_imagei(t, (int2)(p % 12, (12 * y + i / 2) / 5), (int4)(1));", False),
    "elements by digits": ("a[24 * y + 8 * g + 2 * (l >> 1) + (l & 1)] = i;", True),
    "texels by digits of what many have": ("int p = l + 3 * g; write_imagei(t, (int2)(p % 4 + 4 * y, p / 4), 1);", False),
    "texels by digits of two bases": ("write_imagei(t, (int2)(i % 6 + 6 * y, i / 7), (int4)(1));", False),
    "bytes whose rows overlap": ("((global char *)a)[i + 23 * y] = 1;", False),
    "read by a group, written by one item": (
        "int p = g + 3 * get_group_id(1); if (get_local_id(1) == 0 && l == 0) a[p] = 1; volatile int v = a[p];", False,
    ),
    "texels in one column": ("write_imagei(t, (int2)(3, y), (int4)(1));", False),
}  # fmt: skip


def opened(threads: int = 0) -> Device:
    """A device that neither finds proofs on disk nor stores them: some are replaced here."""
    return adreno_sim.open_device("sim:reference", checks="full", threads=threads, cache=False)


def setup(device: Device) -> list[Any]:
    def buffer(count: int) -> Any:
        spec = BufferSpec(4 * count, "int32")
        return device.view(device.allocate(spec.nbytes), spec)

    a, b = buffer(400), buffer(64)
    device.write(b, np.arange(64, dtype=np.int32))
    spec = ImageSpec("image2d", 24, 8, order="R", channel_type="SIGNED_INT32")
    return [a, b, device.view(device.allocate(device.view_nbytes(spec)), spec)]


def run(
    device: Device, body: str, grid: tuple[Sequence[int], Sequence[int]] = (GLOBAL, LOCAL)
) -> list[tuple[str, int, int, str]]:
    """Kind, line, count and message of what a launch finds, of which nothing is known from before."""
    launch_analysis._analyses.clear()
    found = device.launch(device.build(HEAD + body + "\n}", "-cl-std=CL2.0")["k"], *grid, setup(device)).findings
    return sorted((finding.kind.label, finding.line, finding.count, finding.message) for finding in found)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_exclusive(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    body, expected = KERNELS[name]
    told: list[Collection[int]] = []

    def noted(analysis: AccessAnalysis) -> frozenset[int]:
        told.append(single_writer_args(analysis))
        return frozenset()

    monkeypatch.setattr(launch_proofs, "single_writer_args", noted)
    kinds = {kind for kind, *_ in run(opened(), body)}
    assert ((2 if "write_image" in body else 0) in told[0]) is expected
    assert not expected or not kinds & {"data-race", "same-value-race", "store-overwritten"}


def test_arguments_that_share_memory_are_watched() -> None:
    """Each alone is exclusive; together two work-items write one element."""
    device = adreno_sim.open_device("sim:reference", checks="full")
    storage = device.allocate(4096)
    views = [device.view(storage, BufferSpec(1024, "int32"), offset) for offset in (0, 512)]
    source = "kernel void k(global int *a, global int *c) { int i = get_global_id(0); a[i] = i; c[i] = i + 1; }"
    found = device.launch(device.build(source)["k"], (256,), (64,), views).findings
    assert "data-race" in {finding.kind.label for finding in found}


def test_groups_side_by_side_find_what_groups_in_a_row_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A race in local memory, in a kernel whose groups run on several threads as nothing else can touch."""
    body = "local int s[8]; s[l / 2] = l < 6 ? y : 5; barrier(CLK_LOCAL_MEM_FENCE); a[i + 24 * y] = s[l / 2];"
    together = run(opened(threads=2), body)
    alone = run(opened(threads=1), body)
    monkeypatch.setattr(launch_proofs, "single_writer_args", lambda _: frozenset())
    assert together == alone == run(opened(), body)
    assert {kind for kind, *_ in alone} == {"data-race"}


small = st.integers(0, 6)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """A loop (perhaps) around one or two stores with indices that may or may not tell work-items and turns apart."""
    scale = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 24]))
    parts = [f"{draw(small)} * l", f"{draw(small) * draw(st.sampled_from([1, 4]))} * g", f"{draw(small) * scale} * y"]
    if draw(st.booleans()):
        parts.append(f"{draw(small)} * n")
    if draw(st.booleans()):
        parts.append(f"{draw(small)} * (i % {draw(st.integers(1, 5))})")
    if draw(st.booleans()):
        parts.append(f"{draw(small)} * (i / {draw(st.integers(1, 5))})")
    index = " + ".join(parts)
    ways = st.sampled_from(["=", "=", "+="])
    stores = f"a[{index}] {draw(ways)} i + n;\n"
    if draw(st.booleans()):
        stores += f"a[{index} + {draw(st.integers(0, 40)) * draw(st.integers(0, 1))}] {draw(ways)} y - n;\n"
    guard = draw(st.sampled_from(["", "if (l == 0)", "if (i < 10)", "if (i + y < 9)", "if (i != y)"]))
    return f"for (int n = 0; n < {draw(st.integers(1, 3))}; n++) {guard} {{\n{stores}}}"


@settings(max_examples=12, deadline=None)
@given(bodies())
def test_random_stores_give_the_same_findings_with_and_without(body: str) -> None:
    grid = ((12, 2), (4, 2))
    with_proof = run(opened(), body, grid)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch_proofs, "single_writer_args", lambda _: frozenset())
        assert with_proof == run(opened(), body, grid)
