"""Float built-ins that take one or a few machine operations; and min, max, clamp of any type."""

from __future__ import annotations

from ...ir import ir, llvm_types
from ...ir.llvm_types import elem_bits
from ..emit.builtin_registry import broadcast_to, builtin, builtin_family, emit_intrinsic, is_signed
from ..emit.emitter import Emitter
from ..emit.half_arithmetic import computes_halves, emit_comparison, emit_operation, half_operand, is_half, narrow, widen
from .arith import splat_int

_FLOAT = ir.Float(32)
_DOUBLE = ir.Float(64)


def is_float(type: ir.Type) -> bool:
    return isinstance(llvm_types.elem_of(type), ir.Float)


# Floats


def emit_fma(e: Emitter, type: ir.Type, a: str, b: str, c: str) -> str:
    """Returns a*b+c rounded once. Without arithmetic of halves they are computed in double: the product is exact there, and the
    sum has enough digits."""
    if not is_half(type):
        return emit_intrinsic(e, "fma", type, a, b, c)
    if computes_halves():
        return emit_operation(e, "fma", type, a, b, c)
    wide, spelled = llvm_types.with_elem(type, _DOUBLE), llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    double = llvm_types.spell(wide)
    x, y, z = (e.body.op(f"fpext {spelled} {widen(e, type, v)} to {double}") for v in (a, b, c))
    total = e.body.op(f"fadd {double} {e.body.op(f'fmul {double} {x}, {y}')}, {z}")
    return narrow_from_double(e, type, total)


def narrow_from_double(e: Emitter, type: ir.Type, value: str) -> str:
    """Converts double to half `type` with one rounding, by way of a float rounded to odd."""
    return narrow(e, type, round_to_odd(e, type, value))


def round_to_odd(e: Emitter, type: ir.Type, value: str) -> str:
    """Converts double to float, rounded to odd, so that a later rounding to fewer digits is correct."""
    t = e.body
    word, wide = ir.Int(32), ir.Float(64)
    double, single = llvm_types.spell(llvm_types.with_elem(type, wide)), llvm_types.spell(llvm_types.with_elem(type, _FLOAT))
    words, flags = llvm_types.with_elem(type, word), llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    spelled = llvm_types.spell(words)
    near = t.op(f"fptrunc {double} {value} to {single}")
    back = t.op(f"fpext {single} {near} to {double}")
    pattern = t.op(f"bitcast {single} {near} to {spelled}")
    inexact = t.op(f"fcmp one {double} {back}, {value}")
    size = emit_intrinsic(e, "fabs", llvm_types.with_elem(type, wide), value)
    found = emit_intrinsic(e, "fabs", llvm_types.with_elem(type, wide), back)
    past = t.op(f"fcmp ogt {double} {found}, {size}")
    step = t.op(f"sext {flags} {past} to {spelled}")
    toward_zero = t.op(f"add {spelled} {pattern}, {step}")
    odd = t.op(f"or {spelled} {toward_zero}, {splat_int(words, 1)}")
    chosen = t.op(f"select {flags} {inexact}, {spelled} {odd}, {spelled} {pattern}")
    return t.op(f"bitcast {spelled} {chosen} to {single}")


@builtin("fma")
def _fma(e: Emitter, instr: ir.Instr) -> None:
    e.define(instr, emit_fma(e, instr.type, *(e.value(v) for v in instr.operands)))


@builtin("mad")
@builtin_family(r"llvm\.fmuladd\..*")
def _contractible(e: Emitter, instr: ir.Instr) -> None:
    """Emits a*b+c of one expression, fused if the launch contracts. Halves are rounded twice, as Adreno has no half FMA."""
    if is_half(instr.type):
        a, b, c = (half_operand(e, v) for v in instr.operands)
        e.define(instr, emit_operation(e, "fadd", instr.type, emit_operation(e, "fmul", instr.type, a, b), c))
        return
    a, b, c = (e.value(v) for v in instr.operands)
    if e.contracts:
        e.define(instr, emit_fma(e, instr.type, a, b, c))
    else:
        spelled = llvm_types.spell(instr.type)
        e.define(instr, e.body.op(f"fadd {spelled} {e.body.op(f'fmul {spelled} {a}, {b}')}, {c}"))


@builtin_family(r"llvm\.fma\..*")
def _llvm_fma(e: Emitter, instr: ir.Instr) -> None:
    _fma(e, instr)


_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven", "sqrt": "sqrt", "round": "round"}


@builtin("floor", "ceil", "trunc", "rint", "sqrt", "round", "half_sqrt", "native_sqrt")
@builtin_family(r"llvm\.(floor|ceil|trunc|rint|nearbyint|roundeven|round|sqrt)\..*")
def _unary(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    name = instr.callee.name.removeprefix("half_").removeprefix("native_")
    if name.startswith("llvm."):
        name = {"nearbyint": "rint", "roundeven": "rint"}.get(name.split(".")[1], name.split(".")[1])
    operand = e.value(instr.operands[0])
    if is_half(instr.type) and name == "sqrt":
        e.define(instr, emit_operation(e, name, instr.type, operand))
    elif is_half(instr.type):
        wide = emit_intrinsic(e, _ROUNDING[name], llvm_types.with_elem(instr.type, _FLOAT), widen(e, instr.type, operand))
        e.define(instr, narrow(e, instr.type, wide))
    else:
        e.define(instr, emit_intrinsic(e, _ROUNDING[name], instr.type, operand))


@builtin("fabs")
@builtin_family(r"llvm\.fabs\..*")
def _fabs(e: Emitter, instr: ir.Instr) -> None:
    bits = elem_bits(instr.type)
    words = llvm_types.with_elem(instr.type, ir.Int(bits))
    spelled = llvm_types.spell(words)
    pattern = e.body.op(f"bitcast {e.typed_operand(instr.operands[0])} to {spelled}")
    magnitude = e.body.op(f"and {spelled} {pattern}, {splat_int(words, (1 << (bits - 1)) - 1)}")
    e.define(instr, e.body.op(f"bitcast {spelled} {magnitude} to {llvm_types.spell(instr.type)}"))


@builtin("copysign")
@builtin_family(r"llvm\.copysign\..*")
def _copysign(e: Emitter, instr: ir.Instr) -> None:
    bits = elem_bits(instr.type)
    words = llvm_types.with_elem(instr.type, ir.Int(bits))
    spelled, t = llvm_types.spell(words), e.body
    a, b = (t.op(f"bitcast {e.typed_operand(v)} to {spelled}") for v in instr.operands)
    size = t.op(f"and {spelled} {a}, {splat_int(words, (1 << (bits - 1)) - 1)}")
    sign = t.op(f"and {spelled} {b}, {splat_int(words, 1 << (bits - 1))}")
    e.define(instr, t.op(f"bitcast {spelled} {t.op(f'or {spelled} {size}, {sign}')} to {llvm_types.spell(instr.type)}"))


def emit_compare(e: Emitter, predicate: str, type: ir.Type, a: str, b: str, flush_halves: bool = True) -> str:
    """Emits an fcmp on lanes of `type`. flush_halves: as `emit_comparison` says of flush."""
    if is_half(type):
        return emit_comparison(e, predicate, type, a, b, flush_halves)
    return e.body.op(f"fcmp {predicate} {llvm_types.spell(type)} {a}, {b}")


def emit_select(e: Emitter, flags: str, type: ir.Type, a: str, b: str) -> str:
    """Emits a select per lane."""
    lanes, spelled = llvm_types.spell(llvm_types.with_elem(type, ir.Int(1))), llvm_types.spell(type)
    return e.body.op(f"select {lanes} {flags}, {spelled} {a}, {spelled} {b}")


def emit_min_max(e: Emitter, type: ir.Type, a: str, b: str, least: bool) -> str:
    """Emits fmin or fmax: of a NaN and a number, the result is the number. Denormal halves are distinguished."""
    better = emit_compare(e, "olt" if least else "ogt", type, b, a, flush_halves=False)
    first_nan = emit_compare(e, "uno", type, a, a, flush_halves=False)
    flags = llvm_types.spell(llvm_types.with_elem(type, ir.Int(1)))
    return emit_select(e, e.body.op(f"or {flags} {better}, {first_nan}"), type, b, a)


def _flush_chosen(e: Emitter, instr: ir.Instr, chosen: str) -> str:
    """Returns the operand that min, max or clamp chose, flushed as a result of arithmetic is, if the launch flushes denormals.
    Halves are left unchanged."""
    if not e.unit.spec.flush_denormals or is_half(instr.type):
        return chosen
    if instr.type != ir.Vector(_FLOAT, 2):
        return emit_intrinsic(e, "canonicalize", instr.type, chosen)
    # For some processors LLVM ends the process over two floats. The fence keeps it from making four to two.
    spelled, wide = llvm_types.spell(instr.type), ir.Vector(_FLOAT, 4)
    four = e.body.op(f"shufflevector {spelled} {chosen}, {spelled} poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>")
    flushed = emit_intrinsic(e, "canonicalize", wide, emit_intrinsic(e, "arithmetic.fence", wide, four))
    spelled = llvm_types.spell(wide)
    return e.body.op(f"shufflevector {spelled} {flushed}, {spelled} poison, <2 x i32> <i32 0, i32 1>")


@builtin("fmin", "fmax")
@builtin_family(r"llvm\.(minnum|maxnum)\..*")
def _fmin(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    a, b = (broadcast_to(e, v, instr.type) for v in instr.operands)
    e.define(instr, _flush_chosen(e, instr, emit_min_max(e, instr.type, a, b, "min" in instr.callee.name)))


# Both kinds


@builtin("min", "max")
def _min(e: Emitter, instr: ir.Instr) -> None:
    assert instr.callee is not None
    a, b = (broadcast_to(e, v, instr.type) for v in instr.operands)
    least = instr.callee.name == "min"
    if is_float(instr.type):  # min: y < x ? y : x; max: x < y ? y : x
        better = emit_compare(e, "olt", instr.type, *((b, a) if least else (a, b)), flush_halves=False)
        e.define(instr, _flush_chosen(e, instr, emit_select(e, better, instr.type, b, a)))
    else:
        e.define(instr, emit_intrinsic(e, ("s" if is_signed(instr) else "u") + ("min" if least else "max"), instr.type, a, b))


@builtin("clamp")
def _clamp(e: Emitter, instr: ir.Instr) -> None:
    value, low, high = (broadcast_to(e, v, instr.type) for v in instr.operands)
    if is_float(instr.type):  # fmin(fmax(x, low), high)
        raised = emit_min_max(e, instr.type, value, low, least=False)
        e.define(instr, _flush_chosen(e, instr, emit_min_max(e, instr.type, raised, high, least=True)))
    else:
        sign = "s" if is_signed(instr) else "u"
        raised = emit_intrinsic(e, f"{sign}max", instr.type, value, low)
        e.define(instr, emit_intrinsic(e, f"{sign}min", instr.type, raised, high))


@builtin_family(r"llvm\.(assume|expect|lifetime\..*|experimental\.noalias.*|dbg\..*|prefetch.*|trap|donothing|sideeffect)(\..*)?")
def _ignore_hint(e: Emitter, instr: ir.Instr) -> None:
    """Ignores promises to the optimiser, since they may be wrong."""
    if not isinstance(instr.type, ir.Void):
        e.define(instr, e.value(instr.operands[0]))
