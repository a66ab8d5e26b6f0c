"""Emits loads, stores and address arithmetic. All memory accesses of scalar code are emitted and checked here.

An out-of-bounds load yields zero and an out-of-bounds store is dropped; both are reported, and the kernel continues. A
misaligned access inside its object is reported and done byte by byte. A misaligned atomic is dropped, since it could cross a
cache line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.memory_ops import claimed_alignment
from ...ir.provenance import ALIGNED, Ptr, is_pointer, stride_of
from ...ir.unsupported import unsupported
from ..abi import context
from ..llvm.text import emit_add_i64, emit_mul_i64
from .diagnostic_sites import DiagnosticSite
from .emitter import Emitter, instruction
from .inner_bounds import IndexStep, emit_index_checks

AccessBody = Callable[[str], str]
"""Emits the access itself for an address, spelled as in `ptr ..., align n`. Returns the loaded value, "" for a store."""


def access_site(e: Emitter, pointer: Ptr, kind: Kind, size: int) -> DiagnosticSite:
    """Returns the diagnostic site of an access of `size` bytes through `pointer`."""
    return DiagnosticSite(kind, e.loc, "offset", pointer.object.name if pointer.object else "", size)


def site_values(e: Emitter, pointer: Ptr, t: object = None) -> tuple[str | int, str | int, str]:
    """Returns the values reported with an "offset" site: offset, object length, base address."""
    text = t if t is not None else e.body
    return pointer.offset, pointer.length, text.op(f"ptrtoint ptr {pointer.base} to i64")  # type: ignore[attr-defined]


def emit_out_of_bounds(e: Emitter, pointer: Ptr, size: int) -> str | None:
    """Returns an i1 that is true if `size` bytes at `pointer` are not all inside its object; None if they provably are."""
    if not e.unit.checked or e.unit.proves_in_range(e.current):
        return None
    if isinstance(pointer.length, int):
        room = max(0, pointer.length - size + 1)
        if isinstance(pointer.offset, int):
            return None if 0 <= pointer.offset < room else "true"
        return e.body.op(f"icmp uge i64 {pointer.offset}, {room}")
    return e.body.op(f"icmp uge i64 {pointer.offset}, {start_limit(e, pointer, size)}")


def start_limit(e: Emitter, pointer: Ptr, size: int) -> str:
    """Returns the number of start offsets at which `size` bytes fit: length - size + 1, or 0 if the object is too small."""
    if size == 1:
        return str(pointer.length)
    subtract = e.unit.declare("llvm.usub.sat.i64", "i64", "i64, i64")
    if pointer.object is None:
        return e.body.op(f"call {subtract}(i64 {pointer.length}, i64 {size - 1})")
    known = e.limits.get((pointer.base, size))
    if known is None:
        known = e.prologue.op(f"call {subtract}(i64 {pointer.length}, i64 {size - 1})")
        e.limits[pointer.base, size] = known
    return known


def is_aligned(e: Emitter, pointer: Ptr, align: int) -> bool:
    """Returns whether the offset of what the current instruction accesses is proven to be a multiple of `align`."""
    return pointer.align >= align or e.unit.proves_aligned(e.current, align)


def emit_misaligned(e: Emitter, pointer: Ptr, align: int) -> str | None:
    """Returns an i1 that is true if the offset is not a multiple of `align`; None if it provably is."""
    if not e.unit.checked or is_aligned(e, pointer, align):
        return None
    if isinstance(pointer.offset, int):
        return "true" if pointer.offset % align else None
    return e.body.op(f"icmp ne i64 {e.body.op(f'and i64 {pointer.offset}, {align - 1}')}, 0")


def emit_access(e: Emitter, pointer: Ptr, size: int, write: bool, type: str | None, zero: str, body: AccessBody) -> str:
    """Emits `body` under a bounds check. Returns its value, or `zero` for a load that is out of bounds."""
    bad = emit_out_of_bounds(e, pointer, size)
    if bad is None:
        return body(e.address(pointer))
    t = e.body
    failed, ok, done = t.fresh("oob"), t.fresh("ok"), t.fresh("done")
    e.branch_on_failure(bad, failed, ok)
    cold = t.aside()
    cold.block(failed)
    kind = Kind.OUT_OF_BOUNDS_WRITE if write else Kind.OUT_OF_BOUNDS_READ
    e.report(cold, access_site(e, pointer, kind, size), *site_values(e, pointer, cold))
    cold.jump(done)
    t.put_aside(cold)
    t.block(ok)
    result = body(e.address(pointer))
    last = t.label
    t.jump(done)
    t.block(done)
    return t.op(f"phi {type} [ {zero}, %{failed} ], [ {result}, %{last} ]") if type else ""


def emit_alignment_check(e: Emitter, pointer: Ptr, align: int, size: int) -> int:
    """Emits the report of a misaligned access. Returns the alignment that the access may claim."""
    wrong = emit_misaligned(e, pointer, align)
    if wrong is not None:
        e.report_if(wrong, access_site(e, pointer, Kind.MISALIGNED_ACCESS, size), *site_values(e, pointer))
    return align if is_aligned(e, pointer, align) else 1


def emit_load(e: Emitter, pointer: Ptr, type: ir.Type, align: int, volatile: bool = False, instr: ir.Instr | None = None) -> str:
    """Emits a checked load of a value of `type`, which is not a pointer. `align` is the alignment that the source claims.

    `instr` is the instruction whose result has the loaded lanes, or None. Of the current instruction it may be the copy that
    runs for one lane (`vector.turns`), which no analysis knows.
    """
    size, spelled = llvm_types.store_size(type), llvm_types.spell(type)
    known = emit_alignment_check(e, pointer, align, size)
    word = "load volatile" if volatile and is_shared(pointer) else "load"

    def body(address: str) -> str:
        e.hooks.on_load(pointer, type, None if instr is None else e.current)
        return e.body.op(f"{word} {spelled}, ptr {address}, align {known}")

    result = emit_access(e, pointer, size, False, spelled, llvm_types.zero(type), body)
    e.hooks.after_load(instr)
    return result


def emit_store(
    e: Emitter, pointer: Ptr, type: ir.Type, operand: str, align: int, volatile: bool = False, value: ir.Value | None = None
) -> None:
    """Emits a checked store. `operand` was made from `value` lane by lane."""
    size = llvm_types.store_size(type)
    known = emit_alignment_check(e, pointer, align, size)
    word = "store volatile" if volatile and is_shared(pointer) else "store"

    def body(address: str) -> str:
        e.hooks.on_store(pointer, type, operand, value)
        e.body.do(f"{word} {llvm_types.spell(type)} {operand}, ptr {address}, align {known}")
        emit_watch(e, address, size)
        return ""

    emit_access(e, pointer, size, True, None, "", body)


def is_shared(pointer: Ptr) -> bool:
    """Returns whether other threads may see the object. Local and private memory belong to one worker, so volatile is ignored
    there."""
    return pointer.object is None or pointer.object.kind not in ("local", "private")


def emit_watch(e: Emitter, address: str, size: int | str) -> None:
    """Emits the watchpoint test after a store, atomic or block write of `size` bytes at `address`."""
    if not e.unit.spec.watch:
        return
    t = e.body
    low, high = context.read(t, context.WATCH_LOW), context.read(t, context.WATCH_HIGH)
    start = t.op(f"ptrtoint ptr {address} to i64")
    end = t.op(f"add i64 {start}, {size}")
    touches = t.op(f"and i1 {t.op(f'icmp ult i64 {start}, {high}')}, {t.op(f'icmp ugt i64 {end}, {low}')}")
    seen, on = t.fresh("watch"), t.fresh("on")
    t.branch(touches, seen, on, unlikely=True)
    cold = t.aside()
    cold.block(seen)
    group, local = e.report_ids(cold)
    site = e.unit.table.add(DiagnosticSite(Kind.WRONG_VALUE, e.loc, "store"))
    cold.do(f"call void @watched(ptr %ctx, i64 {site}, i64 {group}, i64 {local})")
    cold.jump(on)
    t.put_aside(cold)
    t.block(on)


@instruction("alloca")
def _alloca(e: Emitter, instr: ir.Instr) -> None:
    target = e.object(("alloca", id(instr)))
    e.define_pointer(instr, Ptr(target.base, target.length, 0, ALIGNED, target))


@instruction("undefine")
def _undefine(e: Emitter, instr: ir.Instr) -> None:
    variable = instr.operands[0]
    assert isinstance(variable, ir.Instr)
    e.hooks.on_undefine(variable)


@instruction("note")
def _note(e: Emitter, instr: ir.Instr) -> None:
    e.hooks.on_note(instr)


@instruction("load")
def _load(e: Emitter, instr: ir.Instr) -> None:
    pointer = e.pointer(instr.operands[0])
    if isinstance(instr.type, ir.Pointer):
        word = emit_load(e, pointer, ir.Int(64), claimed_alignment(instr), instr.volatile)
        e.define_pointer(instr, find_object(e, word))
        return
    if isinstance(instr.type, (ir.Array, ir.Struct, ir.Image, ir.Sampler)):
        raise unsupported(f"load of a {instr.type}", instr.loc)
    if isinstance(instr.type, ir.Int) and instr.type.bits == 1:
        byte = emit_load(e, pointer, ir.Int(8), 1, instr.volatile, instr)
        e.define(instr, e.body.op(f"trunc i8 {byte} to i1"))
        return
    e.define(instr, emit_load(e, pointer, instr.type, claimed_alignment(instr), instr.volatile, instr))


@instruction("store")
def _store(e: Emitter, instr: ir.Instr) -> None:
    value, target = instr.operands
    pointer = e.pointer(target)
    type: ir.Type = value.type
    if isinstance(value, ir.Param) and isinstance(type, ir.Struct):
        _store_argument(e, value, pointer)
        return
    if is_pointer(value):
        operand = emit_address_as_int(e, e.pointer(value))
        type = ir.Int(64)
    elif isinstance(type, (ir.Array, ir.Struct, ir.Image, ir.Sampler)):
        raise unsupported(f"store of a {type}", instr.loc)
    elif isinstance(type, ir.Int) and type.bits == 1:
        operand = e.body.op(f"zext i1 {e.value(value)} to i8")
        type = ir.Int(8)
    else:
        operand = e.value(value)
    emit_store(e, pointer, type, operand, claimed_alignment(instr), instr.volatile, value)


def _store_argument(e: Emitter, param: ir.Param, target: Ptr) -> None:
    """Copies a struct argument to the variable that holds it."""
    move = e.unit.declare("llvm.memmove.p0.p0.i64", "void", "ptr, ptr, i64, i1")
    source = e.argument_address(param)
    e.hooks.on_memset(target, llvm_types.size_of(param.type))
    e.body.do(f"call {move}(ptr {e.address(target)}, ptr {source}, i64 {llvm_types.size_of(param.type)}, i1 false)")


def emit_address_as_int(e: Emitter, pointer: Ptr) -> str:
    """Returns the machine address as an i64."""
    return e.body.op(f"ptrtoint ptr {e.address(pointer)} to i64")


def find_object(e: Emitter, number: str) -> Ptr:
    """Returns the pointer for an address of unknown origin. Its object is the one that contains the address; if none does,
    every access through it fails."""
    t = e.body
    base, length, offset = "null", "0", number
    for object_id in e.candidates():
        target = e.object(object_id)
        low = t.op(f"ptrtoint ptr {target.base} to i64")
        distance = t.op(f"sub i64 {number}, {low}")
        inside = t.op(f"icmp ult i64 {distance}, {target.length}")
        base = t.op(f"select i1 {inside}, ptr {target.base}, ptr {base}")
        length = t.op(f"select i1 {inside}, i64 {target.length}, i64 {length}")
        offset = t.op(f"select i1 {inside}, i64 {distance}, i64 {offset}")
    return Ptr(base, length, offset)


def offset_pointer(e: Emitter, pointer: Ptr, index: str | int, stride: int) -> Ptr:
    """Returns `pointer` advanced by `index` steps of `stride` bytes. The sum wraps."""
    if isinstance(index, int):
        steps = index * stride
        if steps == 0:
            return pointer
        if pointer.address is None and isinstance(pointer.offset, int):  # one step from the base in place of two
            address = e.address(replace(pointer, offset=pointer.offset + steps))
        else:
            address = e.body.op(f"getelementptr i8, ptr {e.address(pointer)}, i64 {steps}")
        distance: str | int = steps
        low = steps & -steps
    else:
        distance = emit_mul_i64(e.body, index, stride)
        address = e.body.op(f"getelementptr [{stride} x i8], ptr {e.address(pointer)}, i64 {index}")
        low = stride & -stride
    offset = emit_add_i64(e.body, pointer.offset, distance)
    return Ptr(pointer.base, pointer.length, offset, min(pointer.align, low), pointer.object, address)


@instruction("gep")
def _gep(e: Emitter, instr: ir.Instr) -> None:
    pointer, type = e.pointer(instr.operands[0]), instr.elem
    assert type is not None
    steps, parent = [], None
    for number, index in enumerate(instr.operands[1:]):
        if number and isinstance(type, ir.Struct):
            assert isinstance(index, ir.Const)
            assert isinstance(index.value, int)
            pointer = offset_pointer(e, pointer, 1, llvm_types.field_offset(type, index.value))
            parent, type = type, type.fields[index.value]
            continue
        array, at = type, gep_index(e, index)
        stride, type = stride_of(number, type)
        pointer = offset_pointer(e, pointer, at, stride)
        if number:
            steps.append(IndexStep(number, array, parent, at))
        parent = None
    emit_index_checks(e, instr, steps, pointer)
    e.define_pointer(instr, replace(pointer, align=e.provenance.align(instr)))


def gep_index(e: Emitter, index: ir.Value) -> str | int:
    """Returns a gep index as i64, sign-extended."""
    assert isinstance(index.type, ir.Int)
    if isinstance(index, ir.Const):
        number = index.value if isinstance(index.value, int) else 0
        bits = index.type.bits
        return number - (1 << bits) if number >> (bits - 1) else number
    operand = e.value(index)
    return operand if index.type.bits == 64 else e.body.op(f"sext {index.type} {operand} to i64")


@instruction("ptrtoint")
def _ptrtoint(e: Emitter, instr: ir.Instr) -> None:
    number = emit_address_as_int(e, e.pointer(instr.operands[0]))
    narrow = isinstance(instr.type, ir.Int) and instr.type.bits < 64
    e.define(instr, e.body.op(f"trunc i64 {number} to {instr.type}") if narrow else number)


@instruction("inttoptr")
def _inttoptr(e: Emitter, instr: ir.Instr) -> None:
    source = instr.operands[0]
    number = e.value(source)
    if isinstance(source.type, ir.Int) and source.type.bits < 64:
        number = e.body.op(f"zext {source.type} {number} to i64")
    e.define_pointer(instr, find_object(e, number))


def emit_range_check(e: Emitter, pointer: Ptr, nbytes: str) -> str:
    """Returns an i1 that is true if `nbytes` bytes (an i64 operand) at `pointer` are not all inside its object."""
    t = e.body
    past = t.op(f"icmp ugt i64 {pointer.offset}, {pointer.length}")
    rest = t.op(f"sub i64 {pointer.length}, {pointer.offset}")
    return t.op(f"or i1 {past}, {t.op(f'icmp ugt i64 {nbytes}, {rest}')}")


@instruction("memcpy", "memmove", "memset")
def _block(e: Emitter, instr: ir.Instr) -> None:
    target, source, length = instr.operands
    nbytes = e.value(length)
    if isinstance(length.type, ir.Int) and length.type.bits < 64:
        nbytes = e.body.op(f"zext {length.type} {nbytes} to i64")
    known = length.value if isinstance(length, ir.Const) and isinstance(length.value, int) else 0
    flag = "true" if instr.volatile else "false"
    to = e.pointer(target)
    checks = [(to, Kind.OUT_OF_BOUNDS_WRITE)]
    if instr.op == "memset":
        fill = e.unit.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        rest = f"i8 {e.value(source)}"
    else:
        fill = e.unit.declare("llvm.memmove.p0.p0.i64", "void", "ptr, ptr, i64, i1")
        origin = e.pointer(source)
        checks.append((origin, Kind.OUT_OF_BOUNDS_READ))
        rest = f"ptr {e.address(origin)}"
    emit_block_operation(
        e, checks, nbytes, known, f"call {fill}(ptr {e.address(to)}, {rest}, i64 {nbytes}, i1 {flag})", e.address(to)
    )


def emit_block_operation(e: Emitter, checks: list[tuple[Ptr, Kind]], nbytes: str, known: int, call: str, written: str) -> None:
    """Emits `call` on `nbytes` bytes if every pointer has room, else reports and skips it. `known` is the constant size, 0 if
    it varies."""
    t = e.body
    done = t.fresh("done")
    for pointer, kind in checks if e.unit.checked and not e.unit.proves_in_range(e.current) else []:
        failed, ok = t.fresh("oob"), t.fresh("ok")
        e.branch_on_failure(emit_range_check(e, pointer, nbytes), failed, ok)
        cold = t.aside()
        cold.block(failed)
        e.report(cold, access_site(e, pointer, kind, known), *site_values(e, pointer, cold), nbytes)
        cold.jump(done)
        t.put_aside(cold)
        t.block(ok)
    e.hooks.on_copy(checks[0][0], checks[1][0] if len(checks) > 1 else None, nbytes)
    t.do(call)
    emit_watch(e, written, nbytes)
    t.jump(done)
    t.block(done)
