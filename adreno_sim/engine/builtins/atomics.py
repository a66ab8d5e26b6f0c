"""Atomic operations: OpenCL 1.x's atomic_add and atom_add, OpenCL 2.0's atomic_fetch_add_explicit, and the IR's own.

All are sequentially consistent. A misaligned or out-of-bounds atomic is reported and dropped; it yields 0.
"""

from __future__ import annotations

from ...findings import Kind
from ...ir import ir, llvm_types
from ...ir.provenance import Ptr
from ...ir.unsupported import unsupported
from ..emit import access
from ..emit.builtin_registry import builtin, builtin_family
from ..emit.emitter import Emitter, instruction

_OPERATIONS = {
    "add": "add", "sub": "sub", "xchg": "xchg", "and": "and", "or": "or", "xor": "xor", "inc": "add", "dec": "sub",
}  # fmt: skip


def _unsigned(instr: ir.Instr) -> bool:
    """Returns whether the pointee is unsigned, from the pointer's spelling."""
    assert instr.callee is not None
    words = instr.callee.args[0].replace("*", " ").replace("(", " ").replace(")", " ").split()
    return any(w.startswith(("u", "atomic_u", "_Atomicu")) for w in words)


def _operation(instr: ir.Instr, name: str, type: ir.Type) -> str:
    if isinstance(type, ir.Float):
        return {"add": "fadd", "sub": "fsub", "xchg": "xchg", "min": "fmin", "max": "fmax"}[name]
    if name in ("min", "max"):
        return ("u" if _unsigned(instr) else "") + name
    return _OPERATIONS[name]


def emit_guarded(e: Emitter, pointer: Ptr, type: ir.Type, zero: str, spelled: str | None, body: access.AccessBody) -> str:
    """Emits an atomic operation on a `type` unless it is misaligned or out of bounds."""
    size = llvm_types.store_size(type)
    wrong = access.emit_misaligned(e, pointer, size)
    if wrong is None:
        return access.emit_access(e, pointer, size, True, spelled, zero, body)
    t = e.body
    failed, ok, done = t.fresh("misaligned"), t.fresh("ok"), t.fresh("done")
    e.branch_on_failure(wrong, failed, ok)
    cold = t.aside()
    cold.block(failed)
    e.report(cold, access.access_site(e, pointer, Kind.MISALIGNED_ACCESS, size), *access.site_values(e, pointer, cold))
    cold.jump(done)
    t.put_aside(cold)
    t.block(ok)
    result = access.emit_access(e, pointer, size, True, spelled, zero, body)
    last = t.label
    t.jump(done)
    t.block(done)
    return t.op(f"phi {spelled} [ {zero}, %{failed} ], [ {result}, %{last} ]") if spelled else ""


def _check_type(type: ir.Type, instr: ir.Instr) -> None:
    if not isinstance(type, (ir.Int, ir.Float)) or type.bits not in (32, 64):
        raise unsupported(f"atomic operation on {type}", instr.loc)


def emit_read_modify_write(e: Emitter, instr: ir.Instr, operation: str, pointer: Ptr, type: ir.Type, operand: str) -> str:
    """Emits an atomic read-modify-write. Returns the old value."""
    _check_type(type, instr)
    spelled, size = llvm_types.spell(type), llvm_types.store_size(type)

    def body(address: str) -> str:
        e.hooks.on_atomic(pointer, type, reads=operation != "xchg", writes=True)
        old = e.body.op(f"atomicrmw {operation} ptr {address}, {spelled} {operand} seq_cst, align {size}")
        access.emit_watch(e, address, size)
        return old

    return emit_guarded(e, pointer, type, llvm_types.zero(type), spelled, body)


def emit_compare_exchange(e: Emitter, instr: ir.Instr, pointer: Ptr, type: ir.Type, expected: str, new: str) -> tuple[str, str]:
    """Emits an atomic compare-exchange. Returns the old value, and an i1: whether it was `expected` and is replaced."""
    _check_type(type, instr)
    word, size = f"i{llvm_types.store_size(type) * 8}", llvm_types.store_size(type)
    pair = f"{{ {word}, i1 }}"

    def body(address: str) -> str:
        e.hooks.on_atomic(pointer, type, reads=True, writes=True)
        result = e.body.op(f"cmpxchg ptr {address}, {word} {expected}, {word} {new} seq_cst seq_cst, align {size}")
        access.emit_watch(e, address, size)
        return result

    result = emit_guarded(e, pointer, type, "zeroinitializer", pair, body)
    return e.body.op(f"extractvalue {pair} {result}, 0"), e.body.op(f"extractvalue {pair} {result}, 1")


@instruction("atomicrmw")
def _atomicrmw(e: Emitter, instr: ir.Instr) -> None:
    pointer, operand = instr.operands
    e.define(instr, emit_read_modify_write(e, instr, instr.pred, e.pointer(pointer), operand.type, e.value(operand)))


@instruction("cmpxchg")
def _cmpxchg(e: Emitter, instr: ir.Instr) -> None:
    pointer, expected, new = instr.operands
    old, done = emit_compare_exchange(e, instr, e.pointer(pointer), expected.type, e.value(expected), e.value(new))
    word = llvm_types.spell(expected.type)
    first = e.body.op(f"insertvalue {{ {word}, i1 }} zeroinitializer, {word} {old}, 0")
    e.define(instr, e.body.op(f"insertvalue {{ {word}, i1 }} {first}, i1 {done}, 1"))


@builtin_family(r"atom(ic)?_(add|sub|xchg|inc|dec|min|max|and|or|xor)")
def _classic(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    name = instr.callee.name.rpartition("_")[2]
    operand = e.value(instr.operands[1]) if len(instr.operands) > 1 else "1"
    operation = _operation(instr, name, instr.type)
    e.define(instr, emit_read_modify_write(e, instr, operation, e.pointer(instr.operands[0]), instr.type, operand))


@builtin("atomic_cmpxchg", "atom_cmpxchg")
def _classic_compare(e: Emitter, instr: ir.Instr) -> None:
    pointer, expected, new = instr.operands
    e.define(instr, emit_compare_exchange(e, instr, e.pointer(pointer), instr.type, e.value(expected), e.value(new))[0])


@builtin_family(r"atomic_fetch_(add|sub|or|xor|and|min|max)(_explicit)?")
def _fetch(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    operation = _operation(instr, instr.callee.name.split("_")[2], instr.type)
    pointer, operand = instr.operands[:2]
    e.define(instr, emit_read_modify_write(e, instr, operation, e.pointer(pointer), instr.type, _resize(e, operand, instr.type)))


def _resize(e: Emitter, operand: ir.Value, type: ir.Type) -> str:
    """Returns an intptr-like operand in the type of the atomic."""
    if operand.type == type or not isinstance(operand.type, ir.Int) or not isinstance(type, ir.Int):
        return e.value(operand)
    word = "trunc" if type.bits < operand.type.bits else "sext"
    return e.body.op(f"{word} {e.typed_operand(operand)} to {type}")


@builtin_family(r"atomic_exchange(_explicit)?")
def _exchange(e: Emitter, instr: ir.Instr) -> None:
    pointer, operand = instr.operands[:2]
    e.define(instr, emit_read_modify_write(e, instr, "xchg", e.pointer(pointer), instr.type, e.value(operand)))


@builtin_family(r"atomic_load(_explicit)?")
def _load(e: Emitter, instr: ir.Instr) -> None:
    _check_type(instr.type, instr)
    spelled, size = llvm_types.spell(instr.type), llvm_types.store_size(instr.type)
    pointer = e.pointer(instr.operands[0])

    def body(address: str) -> str:
        e.hooks.on_atomic(pointer, instr.type, reads=True, writes=False)
        return e.body.op(f"load atomic {spelled}, ptr {address} seq_cst, align {size}")

    e.define(instr, emit_guarded(e, pointer, instr.type, llvm_types.zero(instr.type), spelled, body))


@builtin_family(r"atomic_store(_explicit)?|atomic_init")
def _store(e: Emitter, instr: ir.Instr) -> None:
    pointer, value = instr.operands[:2]
    _atomic_store(e, instr, pointer, value.type, e.value(value))


def _atomic_store(e: Emitter, instr: ir.Instr, pointer: ir.Value, type: ir.Type, operand: str) -> None:
    _check_type(type, instr)
    size, target = llvm_types.store_size(type), e.pointer(pointer)

    def body(address: str) -> str:
        e.hooks.on_atomic(target, type, reads=False, writes=True)
        e.body.do(f"store atomic {llvm_types.spell(type)} {operand}, ptr {address} seq_cst, align {size}")
        access.emit_watch(e, address, size)
        return ""

    emit_guarded(e, target, type, "", None, body)


@builtin_family(r"atomic_compare_exchange_(strong|weak)(_explicit)?")
def _compare(e: Emitter, instr: ir.Instr) -> None:
    """On failure, the old value is stored to where the expected one was read."""
    pointer, expected, new = instr.operands[:3]
    type, t = new.type, e.body
    _check_type(type, instr)
    word, size = llvm_types.spell(type), llvm_types.store_size(type)
    holder = e.pointer(expected)
    wanted, fresh = access.emit_load(e, holder, type, size), e.value(new)
    if isinstance(type, ir.Float):
        integer = f"i{type.bits}"
        wanted, fresh = (t.op(f"bitcast {word} {v} to {integer}") for v in (wanted, fresh))
    old, done = emit_compare_exchange(e, instr, e.pointer(pointer), type, wanted, fresh)
    if isinstance(type, ir.Float):
        old = t.op(f"bitcast i{type.bits} {old} to {word}")
    failed, on = t.fresh("unequal"), t.fresh("on")
    t.branch(done, on, failed)
    t.block(failed)
    access.emit_store(e, holder, type, old, size)
    t.jump(on)
    t.block(on)
    e.define(instr, done if instr.type == ir.Int(1) else t.op(f"zext i1 {done} to {llvm_types.spell(instr.type)}"))


@builtin("atomic_flag_test_and_set", "atomic_flag_test_and_set_explicit")
def _flag_set(e: Emitter, instr: ir.Instr) -> None:
    old = emit_read_modify_write(e, instr, "xchg", e.pointer(instr.operands[0]), ir.Int(32), "1")
    flag = e.body.op(f"icmp ne i32 {old}, 0")
    e.define(instr, flag if instr.type == ir.Int(1) else e.body.op(f"zext i1 {flag} to {llvm_types.spell(instr.type)}"))


@builtin("atomic_flag_clear", "atomic_flag_clear_explicit")
def _flag_clear(e: Emitter, instr: ir.Instr) -> None:
    _atomic_store(e, instr, instr.operands[0], ir.Int(32), "0")
