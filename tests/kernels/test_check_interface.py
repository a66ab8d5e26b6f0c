"""Checks of level full compose: a check that this file makes up takes part in launches beside the others.

It knows nothing of vectors at first. Then it must keep a launch that it concerns out of them, and no other.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import adreno_sim
from adreno_sim.base.errors import OptionError
from adreno_sim.base.specs import BufferExtent, BufferSpec, ImageSpec
from adreno_sim.device.protocol import LaunchResult
from adreno_sim.engine import checks
from adreno_sim.engine.abi.specialization import ScalarArg
from adreno_sim.engine.emit.check import Check
from adreno_sim.engine.emit.diagnostic_sites import DiagnosticSite
from adreno_sim.engine.emit.instrumentation import Instrumentation, InstrumentationList
from adreno_sim.engine.emit.kernel_plan import CheckPlan
from adreno_sim.engine.emit.pointers import LanePtr
from adreno_sim.engine.emit.region import RegionEmitter
from adreno_sim.engine.vector.emitter import VectorEmitter
from adreno_sim.findings import Kind
from adreno_sim.ir import ir

ITEMS = 64
builds = itertools.count()
SOURCE = """__kernel void divide(__global const float* a, __global const float* b, __global float* out) {
  int i = get_global_id(0);
  float quotient = a[i] / b[i];
  out[i] = quotient;
}"""


class StoresOfNaN(Check):
    """A made-up check: no kernel stores a NaN."""

    def plan(self, plan):
        stores = any(i.op == "store" for block in plan.unit.kernel.blocks for i in block.instrs)
        return NaNPlan("stores that may be of NaN") if stores else None


class VectorStoresOfNaN(StoresOfNaN):
    def plan_vectors(self, plan):
        return self.plan(plan)


@dataclass
class NaNPlan(CheckPlan):
    def instrument(self, e):
        return NaNs(e)


@dataclass
class NaNs(Instrumentation):
    """The callback of scalar code serves in vectors too: where all lanes store to one place, and for one in its turn."""

    e: RegionEmitter

    def on_store(self, pointer, type, operand, value):
        if type == ir.Float(32):
            site = DiagnosticSite(Kind.WRONG_VALUE, self.e.loc, text="stores a NaN")
            self.e.report_if(self.e.body.op(f"fcmp uno float {operand}, {operand}"), site)

    def on_vector_store(self, where: LanePtr, variable, elem, count, mask):
        assert isinstance(self.e, VectorEmitter)
        stored = self.e.current.operands[0]
        lanes = self.e.lanes.components(stored)[0]
        bad = self.e.body.op(f"fcmp uno {self.e.lanes.spelled(stored.type)} {lanes}, {lanes}")
        self.e.faults.raise_accessing(bad, mask)


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")  # entries on disk know the checks of the package alone
    return adreno_sim.open_device("sim:adreno-740", checks="full")


def launch(device, a, b, source=SOURCE, written=ITEMS) -> LaunchResult:
    views = []
    for data in (a, b, np.zeros(ITEMS, np.float32)):
        view = device.view(device.allocate(data.nbytes), BufferSpec(data.nbytes, data.dtype.name))
        device.write(view, data)
        views.append(view)
    views[0].block.valid[written * 4 :] = 0
    views[0].block.forget()
    fresh = f"{source} // {next(builds)}"  # what is known of a kernel was found with the checks of then
    return device.launch(device.build(fresh)["divide"], (ITEMS,), (16,), views)


def operands(zeros_at: int | None = None):
    a, b = np.arange(1, ITEMS + 1, dtype=np.float32), np.full(ITEMS, 2, np.float32)
    if zeros_at is not None:
        a[zeros_at] = b[zeros_at] = 0
    return a, b


def ran(result: LaunchResult) -> list[str]:
    return ["vectors" if "vector" in code.description else "scalar" for code in result.code]


def found(result: LaunchResult) -> list[tuple[str, int, int]]:
    return [(f.kind.label, f.line, f.work_item.global_id[0]) for f in result.findings]


def test_without_it_the_launch_runs_in_vectors(device):
    result = launch(device, *operands(5))
    assert ran(result) == ["vectors"]
    assert not result.findings


def test_a_check_without_vector_code_keeps_the_launch_out_of_vectors(device, monkeypatch):
    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, StoresOfNaN()))
    assert found(launch(device, *operands(5))) == [("wrong-value", 4, 5)]
    clean = launch(device, *operands())
    assert ran(clean) == ["scalar"]
    assert not clean.findings


def test_a_check_that_does_not_concern_a_launch_changes_nothing(device, monkeypatch):
    class Nothing(StoresOfNaN):
        def plan(self, plan):
            return None if not any(isinstance(arg, ScalarArg) for arg in plan.unit.spec.args) else super().plan(plan)

    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, Nothing()))
    assert ran(launch(device, *operands(5))) == ["vectors"]


def test_a_check_with_vector_code_runs_in_vectors_and_reports_in_scalar_code(device, monkeypatch):
    monkeypatch.setattr(checks, "CHECKS", (*checks.CHECKS, VectorStoresOfNaN()))
    clean = launch(device, *operands())
    assert ran(clean) == ["vectors"]
    assert not clean.findings
    result = launch(device, *operands(7))
    assert ran(result) == ["vectors", "scalar"]
    assert found(result) == [("wrong-value", 4, 7)]


@pytest.mark.parametrize("stored", ["a[0] / b[0]", "a[i] / b[i]"], ids=["one value", "the last lane's value"])
def test_callbacks_of_scalar_code_serve_in_vectors_for_what_all_lanes_store_to_one_place(device, monkeypatch, stored):
    monkeypatch.setattr(checks, "CHECKS", (VectorStoresOfNaN(),))
    source = SOURCE.replace("a[i] / b[i]", stored).replace("out[i] =", "if (i < 16) out[0] =")
    for zeros_at in (None, 0 if "0" in stored else 15):
        result = launch(device, *operands(zeros_at), source=source)
        kinds = {finding.kind.label for finding in result.findings}
        assert ran(result)[0] == "vectors"
        assert ("wrong-value" in kinds) == (zeros_at is not None)


@pytest.mark.parametrize("check", [StoresOfNaN(), VectorStoresOfNaN()], ids=["scalar", "vectors"])
def test_it_finds_beside_the_others(device, monkeypatch, check):
    monkeypatch.setattr(checks, "CHECKS", (check, *checks.CHECKS))
    result = launch(device, *operands(7), written=ITEMS - 1)
    assert found(result) == [("uninitialized-read", 3, ITEMS - 1), ("wrong-value", 4, 7)]
    racing = SOURCE.replace("out[i]", "out[i / 2]")
    kinds = {finding.kind.label for finding in launch(device, *operands(7), source=racing).findings}
    assert kinds == {"data-race", "wrong-value"}


def test_values_have_the_masks_of_one_check():
    class Masked(Instrumentation):
        def mask_types(self, value):
            return ["i1"]

    assert InstrumentationList([Instrumentation(), Masked()]).mask_types(ir.Const(ir.Int(32), 0)) == ["i1"]
    with pytest.raises(ValueError, match="at most one check with masks"):
        InstrumentationList([Masked(), Masked()])


ROWS = """__kernel void rows(__global float* a, int columns) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < columns) a[y * 32 + x] += 1.0f;
}"""


@pytest.mark.parametrize("columns", [30, 31])
def test_extents_of_buffers_are_checked_in_vectors(columns):
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    extent = BufferExtent.of_tensor((4, 30), 4, (128, 4))
    view = device.view(device.allocate(512), BufferSpec(512, "float32", extent))
    device.write(view, np.zeros(128, np.float32))
    result = device.launch(device.build(ROWS)["rows"], (32, 4), (32, 1), [view, np.int32(columns)])
    if columns == 30:
        assert ran(result) == ["vectors"]
        assert not result.findings
    else:
        assert ran(result)[-1] == "scalar"
        assert [(f.kind.label, f.count, f.access.offset) for f in result.findings] == [
            ("outside-extent-read", 4, 120),
            ("outside-extent-write", 4, 120),
        ]


def test_extents_are_checked_at_level_full_alone():
    device = adreno_sim.open_device("sim:adreno-740", checks="bounds")
    view = device.view(device.allocate(512), BufferSpec(512, "float32", BufferExtent.of_tensor((4, 30), 4, (128, 4))))
    device.write(view, np.zeros(128, np.float32))
    assert not device.launch(device.build(ROWS)["rows"], (32, 4), (32, 1), [view, np.int32(32)]).findings


def brute_force(shape, itemsize, strides, offset) -> set[int]:
    starts = [sum(i * s for i, s in zip(index, strides, strict=True)) + offset for index in np.ndindex(*shape)]
    return {start + byte for start in starts for byte in range(itemsize)}


@pytest.mark.parametrize(
    ("shape", "itemsize", "strides", "offset"),
    [
        ((5,), 4, (4,), 0),
        ((5,), 4, (8,), 3),
        ((3, 5), 2, (10, 2), 6),
        ((3, 5), 2, (16, 2), 6),
        ((2, 3, 5), 1, (40, 8, 1), 1),
        ((2, 1, 5), 1, (40, 8, 1), 1),
        ((2, 3, 4), 2, (24, 8, 2), 0),
        ((2, 3, 4), 2, (26, 8, 2), 0),
        ((2, 3, 4), 2, (64, 16, 4), 2),
    ],
)
def test_an_extent_holds_the_bytes_of_its_elements(shape, itemsize, strides, offset):
    """And every access is told inside from outside, in machine code, as a list of the bytes does."""
    extent = BufferExtent.of_tensor(shape, itemsize, strides, offset)
    inside = brute_force(shape, itemsize, strides, offset)
    assert extent.end == max(inside) + 1
    total = extent.end + 8
    device = adreno_sim.open_device("sim:adreno-740", checks="full")
    view = device.view(device.allocate(total), BufferSpec(total, "uint8", extent))
    kernel = device.build("__kernel void one(__global uchar* a, int at) { a[at] = 1; }")["one"]
    for at in range(total):
        device.write(view, np.zeros(total, np.uint8))
        found = device.launch(kernel, (1,), (1,), [view, np.int32(at)]).findings
        assert [f.kind.label for f in found] == ([] if at in inside else ["outside-extent-write"]), at


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BufferExtent.of_tensor((2, 3), 4, (8, 4)),
        lambda: BufferExtent.of_tensor((2, 0), 4),
        lambda: BufferExtent.of_tensor((2, 3), 4, (16,)),
        lambda: BufferSpec(64, "float32", BufferExtent(32, 40)),
        lambda: ImageSpec("image2d", 8, 4, extent=(9, 4, 1)),
        lambda: ImageSpec("image2d", 8, 4, extent=(8, 0, 1)),
    ],
)
def test_an_extent_that_cannot_be_is_refused(wrong):
    with pytest.raises(OptionError, match="expected"):
        wrong()
