"""Accesses inside a buffer or image but outside the tensor that is in it: padding of rows, other tensors of a pool.

The caller states the tensor's extent with the view (`BufferSpec.extent`, `ImageSpec.extent`); it becomes part of the code. A
lane that is loaded and neither used nor stored counts as not read, so that whole vectors may be read across the end of a row;
a lane that is only selected or replaced is left out too. An image that has an extent keeps its launches out of vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from ...base.specs import BufferExtent
from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import Ptr
from ...records import dataclass
from ..abi.specialization import BufferArg, ImageArg
from ..analysis.lane_uses import LaneUses
from ..emit.check import Check, NotVectorizable
from ..emit.diagnostic_sites import DiagnosticSite
from ..emit.emitter import Emitter
from ..emit.image_refs import ImageRef
from ..emit.instrumentation import Instrumentation
from ..emit.kernel_plan import CheckPlan, KernelPlan
from ..emit.pointers import LanePtr
from ..emit.region import RegionEmitter
from ..llvm import vector_text as vt
from ..llvm.text import Text
from ..shadow import init_shadow
from ..shadow.access_info import AccessInfo, describe_access, describe_texel, report_access_if
from ..vector.emitter import VectorEmitter

_I64 = ir.Int(64)


class LogicalExtents(Check):
    def plan(self, plan: KernelPlan) -> CheckPlan | None:
        reason = _find_reason(plan, BufferArg) or _find_reason(plan, ImageArg)
        return ExtentPlan(reason, uses=plan.unit.lane_uses(plan.unit.kernel)) if reason else None

    def plan_vectors(self, plan: KernelPlan) -> CheckPlan | None:
        image = _find_reason(plan, ImageArg)
        if image:
            raise NotVectorizable(image)
        return self.plan(plan)


def _find_reason(plan: KernelPlan, kind: type[BufferArg] | type[ImageArg]) -> str:
    """Returns which argument of a kind holds a tensor that does not fill it; "" if none does."""
    for param, arg in zip(plan.unit.kernel.params, plan.unit.spec.args, strict=True):
        if isinstance(arg, kind) and arg.extent is not None:
            return f"{param.name}, which its tensor does not fill"
    return ""


@dataclass
class ExtentPlan(CheckPlan):
    uses: LaneUses = field(kw_only=True)

    def instrument(self, e: Emitter) -> Instrumentation:
        assert isinstance(e, RegionEmitter)
        return VectorExtents(e, self.uses) if isinstance(e, VectorEmitter) else ExtentInstrumentation(e, self.uses)


class ExtentInstrumentation(Instrumentation):
    """The callbacks for one region. Accesses of one work-item, in scalar code."""

    def __init__(self, e: RegionEmitter, uses: LaneUses):
        self.e, self.uses = e, uses

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        size = llvm_types.store_size(type)
        for start, nbytes in read_parts(self.uses, llvm_types.lanes_of(type), llvm_types.elem_of(type), instr):
            self._check(pointer, size, start, nbytes, Kind.OUTSIDE_EXTENT_READ)

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        size = llvm_types.store_size(type)
        self._check(pointer, size, 0, size, Kind.OUTSIDE_EXTENT_WRITE)

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        size = llvm_types.store_size(type)
        self._check(pointer, size, 0, size, Kind.OUTSIDE_EXTENT_WRITE if writes else Kind.OUTSIDE_EXTENT_READ)

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        self._check(pointer, nbytes, 0, nbytes, Kind.OUTSIDE_EXTENT_WRITE)

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        size: int | str = int(nbytes) if nbytes.isdigit() else nbytes
        if source is not None:
            self._check(source, size, 0, size, Kind.OUTSIDE_EXTENT_READ)
        self._check(target, size, 0, size, Kind.OUTSIDE_EXTENT_WRITE)

    def on_image_read(self, image: ImageRef, where: Sequence[str], offset: str, instr: ir.Instr | None) -> None:
        if instr is None or self.uses.demand(instr).hard:
            self._check_texel(image, where, Kind.OUTSIDE_EXTENT_READ)

    def on_image_write(self, image: ImageRef, where: Sequence[str], offset: str, type: ir.Type, operand: str) -> None:
        self._check_texel(image, where, Kind.OUTSIDE_EXTENT_WRITE)

    def _check(self, pointer: Ptr, size: int | str, start: int, nbytes: int | str, kind: Kind) -> None:
        """Emits the check of `nbytes` bytes, `start` bytes into an access of `size` bytes."""
        bad, extents = emit_outside_of(self.e, pointer, start, nbytes)
        if kind is Kind.OUTSIDE_EXTENT_READ:
            for view, inside in self._inside(pointer, bad, start, nbytes):
                self._note_read(view, inside)
        what = describe_access(self.e, pointer, size if isinstance(size, int) else 0, size if isinstance(size, str) else None)
        self._report(bad, what, kind, " or ".join(extents))

    def _check_texel(self, image: ImageRef, where: Sequence[str], kind: Kind) -> None:
        arg = self.e.unit.spec.args[image.param.index]
        assert isinstance(arg, ImageArg)
        if arg.extent is None:
            return
        extent = [*arg.extent[: image.axes], *([arg.extent[2]] if image.layered else [])]
        t = self.e.body
        bad = init_shadow.emit_or(t, [t.op(f"icmp uge i32 {c}, {n}") for c, n in zip(where, extent, strict=True)])
        if kind is Kind.OUTSIDE_EXTENT_READ:
            self._note_read(image.param.name, t.op(f"xor i1 {bad}, true"))
        self._report(bad, describe_texel(image, where), kind, " x ".join(map(str, extent)) + " texels")

    def _inside(self, pointer: Ptr, bad: str, start: int, nbytes: int | str) -> Iterator[tuple[str, str]]:
        """Emits, for each argument with a tensor that a pointer may point to, an i1: whether the access is in that tensor.

        bad: whether it is outside. The argument's name comes with it.
        """
        params, t = self.e.unit.kernel.params, self.e.body
        if bad == "false" or self.e.unit.deferred_checks:
            return
        if pointer.object is not None:
            yield pointer.object.name, t.op(f"xor i1 {bad}, true")
            return
        for object_id in self.e.candidates():
            extent = _extent_of(self.e, object_id)
            if extent is not None and isinstance(object_id[1], int):
                here = t.op(f"icmp eq ptr {pointer.base}, {self.e.object(object_id).base}")
                outside = emit_outside(t, Scalar(), str(pointer.offset), start, nbytes, extent)
                yield params[object_id[1]].name, t.op(f"and i1 {here}, {t.op(f'xor i1 {outside}, true')}")

    def _note_read(self, view: str, inside: str) -> None:
        """Emits the count of a read of the tensor in `view`, where code reports findings."""
        if not self.e.unit.deferred_checks:
            self.e.report_if(inside, DiagnosticSite(Kind.OUTSIDE_EXTENT_READ, self.e.loc, "inside", view))

    def _report(self, bad: str, what: AccessInfo, kind: Kind, extent: str) -> None:
        verb = "reads" if kind is Kind.OUTSIDE_EXTENT_READ else "writes"
        where = "{size} bytes at offset {offset} of {view}" if what.shape == "offset" else "{view} at {coordinate}"
        report_access_if(self.e, bad, what, kind, f"{verb} {where}, outside the tensor in it ({extent})")


class VectorExtents(Instrumentation):
    """The callbacks for one region, of all lanes: a lane whose access is outside raises the fault flag."""

    def __init__(self, e: VectorEmitter, uses: LaneUses):
        self.e, self.uses = e, uses

    # One access that all lanes share, or one lane's in its turn

    def on_load(self, pointer: Ptr, type: ir.Type, instr: ir.Instr | None) -> None:
        for start, nbytes in read_parts(self.uses, llvm_types.lanes_of(type), llvm_types.elem_of(type), instr):
            self._check(pointer, start, nbytes)

    def on_store(self, pointer: Ptr, type: ir.Type, operand: str, value: ir.Value | None) -> None:
        self._check(pointer, 0, llvm_types.store_size(type))

    def on_atomic(self, pointer: Ptr, type: ir.Type, reads: bool, writes: bool) -> None:
        self._check(pointer, 0, llvm_types.store_size(type))

    def on_memset(self, pointer: Ptr, nbytes: int) -> None:
        self._check(pointer, 0, nbytes)

    def on_copy(self, target: Ptr, source: Ptr | None, nbytes: str) -> None:
        size: int | str = int(nbytes) if nbytes.isdigit() else nbytes
        self._check(target, 0, size)
        if source is not None:
            self._check(source, 0, size)

    def _check(self, pointer: Ptr, start: int, nbytes: int | str) -> None:
        bad, _ = emit_outside_of(self.e, pointer, start, nbytes)
        self.e.faults.raise_if_any(bad)

    # All lanes

    def on_vector_load(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        for start, nbytes in read_parts(self.uses, count, elem, self.e.current):
            self._check_lanes(where, start, nbytes, mask)

    def on_vector_store(self, where: LanePtr, variable: ir.Instr | None, elem: ir.Type, count: int, mask: str | None) -> None:
        self._check_lanes(where, 0, count * llvm_types.size_of(elem), mask)

    def _check_lanes(self, where: LanePtr, start: int, nbytes: int, mask: str | None) -> None:
        target = where.pointer.object
        if target is None:
            raise NotVectorizable("a pointer whose object is not known when compiling")
        extent = _extent_of(self.e, target.id)
        if extent is None:
            return
        e, t = self.e, self.e.body
        bad = emit_outside(t, Lanes(e), e.lanes.offsets(where), start, nbytes, extent)
        e.faults.raise_accessing(bad, mask)


def read_parts(uses: LaneUses, lanes: int, elem: ir.Type, instr: ir.Instr | None) -> list[tuple[int, int]]:
    """Returns (start, bytes) of the parts that are used in any case of `lanes` elements, loaded by `instr`; neighbours are one
    part."""
    size = llvm_types.store_size(elem)
    hard = set(range(lanes)) if instr is None or llvm_types.lanes_of(instr.type) != lanes else uses.demand(instr).hard
    edges = [lane for lane in range(lanes + 1) if (lane in hard) != (lane - 1 in hard)]
    return [(size * low, size * (high - low)) for low, high in pairwise(edges) if low in hard]


def _extent_of(e: RegionEmitter, object_id: tuple[str, object]) -> BufferExtent | None:
    kind, which = object_id
    if kind != "param":
        return None
    assert isinstance(which, int)
    arg = e.unit.spec.args[which]
    return arg.extent if isinstance(arg, BufferArg) else None


def emit_outside_of(e: RegionEmitter, pointer: Ptr, start: int, nbytes: int | str) -> tuple[str, list[str]]:
    """Returns an i1: whether `nbytes` bytes, `start` bytes behind `pointer`, are not all in the tensor of its buffer; and the
    extents that they were compared with. "false" where nothing is to be compared."""
    if pointer.object is not None:
        extent = _extent_of(e, pointer.object.id)
        if extent is None:
            return "false", []
        return emit_outside(e.body, Scalar(), str(pointer.offset), start, nbytes, extent), [str(extent)]
    bad, extents = [], []
    for object_id in e.candidates():
        extent = _extent_of(e, object_id)
        if extent is not None:
            here = e.body.op(f"icmp eq ptr {pointer.base}, {e.object(object_id).base}")
            outside = emit_outside(e.body, Scalar(), str(pointer.offset), start, nbytes, extent)
            bad.append(e.body.op(f"and i1 {here}, {outside}"))
            extents.append(str(extent))
    return init_shadow.emit_or(e.body, bad), extents


class Scalar:
    """How offsets are spelled: as one i64."""

    type = "i64"
    flag = "i1"

    def constant(self, value: int) -> str:
        return str(value)


class Lanes(Scalar):
    """As vectors of i64, one for each lane of `e`."""

    def __init__(self, e: VectorEmitter):
        self._count = e.count
        self.type, self.flag = f"<{e.count} x i64>", f"<{e.count} x i1>"

    def constant(self, value: int) -> str:
        return vt.numbers(_I64, [value] * self._count)


def emit_outside(t: Text, form: Scalar, offset: str, start: int, nbytes: int | str, extent: BufferExtent) -> str:
    """Returns whether `nbytes` bytes from byte `offset` + `start` of a buffer are not all in one run of `extent`."""
    shift = start - extent.offset
    at = t.op(f"add {form.type} {offset}, {form.constant(shift)}") if shift else offset
    bad = None
    for count, stride in extent.repeats:  # an offset before the first run is a large number
        beyond = t.op(f"icmp uge {form.type} {at}, {form.constant(count * stride)}")
        bad = beyond if bad is None else t.op(f"or {form.flag} {bad}, {beyond}")
        at = t.op(f"urem {form.type} {at}, {form.constant(stride)}")
    if isinstance(nbytes, int):
        room = max(0, extent.nbytes - nbytes + 1)
        past = t.op(f"icmp uge {form.type} {at}, {form.constant(room)}")
    else:
        late = t.op(f"icmp ugt i64 {at}, {extent.nbytes}")
        rest = t.op(f"sub i64 {extent.nbytes}, {at}")
        past = t.op(f"or i1 {late}, {t.op(f'icmp ugt i64 {nbytes}, {rest}')}")
    return past if bad is None else t.op(f"or {form.flag} {bad}, {past}")
