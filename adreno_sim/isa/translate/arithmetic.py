"""Arithmetic, comparisons, choices, and the parts of vectors and structs."""

from __future__ import annotations

from ...base.errors import UnsupportedError
from ...ir import ir
from ..program import Value
from .translation import Handler, Translation, Values, bits_of, constant_index, lane_type, leaves_of

_BINARY = {
    "add": "iadd", "sub": "isub", "mul": "imul", "udiv": "udiv", "sdiv": "idiv", "urem": "umod", "srem": "irem", "shl": "ishl",
    "lshr": "ushr", "ashr": "ishr", "and": "iand", "or": "ior", "xor": "ixor", "fadd": "fadd", "fsub": "fsub", "fmul": "fmul",
}  # fmt: skip
_OF_TRUTHS = {"add": "ixor", "sub": "ixor", "mul": "iand"}
_SHIFTS = ("shl", "lshr", "ashr")

_INTEGER = {
    "eq": ("ieq", False), "ne": ("ine", False), "slt": ("ilt", False), "sgt": ("ilt", True), "sge": ("ige", False),
    "sle": ("ige", True), "ult": ("ult", False), "ugt": ("ult", True), "uge": ("uge", False), "ule": ("uge", True),
}  # fmt: skip
"""NIR's comparison, and whether it takes the operands the other way round."""
_REAL = {
    "oeq": ("feq", False, False), "une": ("fneu", False, False), "olt": ("flt", False, False), "ogt": ("flt", True, False),
    "oge": ("fge", False, False), "ole": ("fge", True, False), "ult": ("fge", False, True), "ugt": ("fge", True, True),
    "ule": ("flt", True, True), "uge": ("flt", False, True),
}  # fmt: skip
"""The same, and whether its answer is turned round: an unordered comparison is the opposite of an ordered one."""


def _binary(translation: Translation, instr: ir.Instr) -> Values:
    name = _BINARY[instr.op]
    program = translation.program
    left, right = map(translation.value, instr.operands)
    found = []
    for one, other in zip(left, right, strict=True):
        bits = program.bits(one)
        if instr.op in _SHIFTS:  # NIR's counts have 32 bits
            other = translation.resize(other, 32)
        found.append(program.op(_OF_TRUTHS.get(instr.op, name) if bits == 1 else name, one, other))
    return tuple(found)


def _divide(translation: Translation, instr: ir.Instr) -> Values:
    return translation.map_lanes(instr, lambda one, other: divide_reals(translation, one, other))


def divide_reals(translation: Translation, one: Value, other: Value) -> Value:
    """Divides floats by a reciprocal, as these GPUs have no division. A divisor near the ends of the range has none, so both
    operands are scaled first, unless the build options allow less exact floats. Halves are not scaled, as in Mesa's driver."""
    program, op = translation.program, translation.program.op
    bits = program.bits(one)
    if translation.function.relaxed_math or bits == 16:
        return op("fmul", one, op("frcp", other))
    size = op("fabs", other)
    is_large, is_small = op("flt", program.real(2.0**126, 32), size), op("flt", size, program.real(2.0**-126, 32))

    def scale(value: Value) -> Value:
        small = op("bcsel", is_small, op("fmul", value, program.real(2.0**24, 32)), value)
        return op("bcsel", is_large, op("fmul", value, program.real(0.25, 32)), small)

    return op("fmul", scale(one), op("frcp", scale(other)))


def _negate(translation: Translation, instr: ir.Instr) -> Values:
    return tuple(translation.program.op("fneg", value) for value in translation.value(instr.operands[0]))


def _compare_integers(translation: Translation, instr: ir.Instr) -> Values:
    name, swapped = _INTEGER[instr.pred]
    op = translation.program.op
    return translation.map_lanes(instr, lambda one, other: op(name, other, one) if swapped else op(name, one, other))


def _compare_reals(translation: Translation, instr: ir.Instr) -> Values:
    return translation.map_lanes(instr, lambda one, other: compare_reals(translation, instr.pred, one, other))


def compare_reals(translation: Translation, pred: str, one: Value, other: Value) -> Value:
    """Compares floats as LLVM's fcmp does."""
    op = translation.program.op
    if pred in ("true", "false"):
        return translation.program.constant(int(pred == "true"), 1)
    if pred in ("one", "ueq"):
        differ = op("ior", op("flt", one, other), op("flt", other, one))
        return differ if pred == "one" else op("inot", differ)
    if pred == "ord":
        return op("iand", op("feq", one, one), op("feq", other, other))
    if pred == "uno":
        return op("ior", op("fneu", one, one), op("fneu", other, other))
    name, swapped, turned = _REAL[pred]
    found = op(name, other, one) if swapped else op(name, one, other)
    return op("inot", found) if turned else found


def _select(translation: Translation, instr: ir.Instr) -> Values:
    conditions, yes, no = map(translation.value, instr.operands)
    if len(conditions) == 1:
        conditions = conditions * len(yes)
    return tuple(translation.program.op("bcsel", *three) for three in zip(conditions, yes, no, strict=True))


def pick(translation: Translation, values: Values, index: Value) -> Value:
    """Chooses one of several values by an index that is computed."""
    program = translation.program
    index = translation.resize(index, 32)
    found = values[0]
    for number in range(1, len(values)):
        found = program.op("bcsel", program.op("ieq", index, program.constant(number, 32)), values[number], found)
    return found


def _extract_element(translation: Translation, instr: ir.Instr) -> Values:
    values, index = translation.value(instr.operands[0]), constant_index(instr.operands[1])
    if index is not None:
        return (values[index % len(values)],)
    return (pick(translation, values, translation.scalar(instr.operands[1])),)


def _insert_element(translation: Translation, instr: ir.Instr) -> Values:
    values, new = list(translation.value(instr.operands[0])), translation.scalar(instr.operands[1])
    index = constant_index(instr.operands[2])
    if index is not None:
        values[index % len(values)] = new
        return tuple(values)
    program = translation.program
    chosen = translation.resize(translation.scalar(instr.operands[2]), 32)
    return tuple(
        program.op("bcsel", program.op("ieq", chosen, program.constant(number, 32)), new, old)
        for number, old in enumerate(values)
    )


def _shuffle(translation: Translation, instr: ir.Instr) -> Values:
    values = translation.value(instr.operands[0]) + translation.value(instr.operands[1])
    bits = bits_of(lane_type(instr.type))
    return tuple(translation.program.undefined(bits) if number < 0 else values[number] for number in instr.mask)


def _find_part(type: ir.Type, indices: tuple[int, ...]) -> tuple[int, int]:
    """Where the scalars of a part begin, and how many there are."""
    start = 0
    for number in indices:
        if isinstance(type, ir.Struct):
            start += sum(len(leaves_of(field)) for field in type.fields[:number])
            type = type.fields[number]
        else:
            assert isinstance(type, (ir.Array, ir.Vector))
            type = type.elem
            start += number * len(leaves_of(type))
    return start, len(leaves_of(type))


def _extract_value(translation: Translation, instr: ir.Instr) -> Values:
    start, count = _find_part(ir.type_of(instr.operands[0]), instr.indices)
    return translation.value(instr.operands[0])[start : start + count]


def _insert_value(translation: Translation, instr: ir.Instr) -> Values:
    start, count = _find_part(instr.type, instr.indices)
    whole = translation.value(instr.operands[0])
    return whole[:start] + translation.value(instr.operands[1]) + whole[start + count :]


def _cast(translation: Translation, instr: ir.Instr) -> Values:
    target = lane_type(instr.type)
    return tuple(cast(translation, instr.op, value, target) for value in translation.value(instr.operands[0]))


def cast(translation: Translation, kind: str, value: Value, type: ir.Type) -> Value:
    """Converts a scalar as LLVM's instruction of that name does."""
    op, constant = translation.program.op, translation.program.constant
    source, target = translation.program.bits(value), bits_of(type)
    if kind in ("trunc", "zext", "ptrtoint", "inttoptr", "addrspacecast"):
        if source == target:
            return value
        if target == 1:
            return op("ine", op("iand", value, constant(1, source)), constant(0, source))
        return op(f"b2i{target}" if source == 1 else f"u2u{target}", value)
    if kind == "sext":
        return op("ineg", op(f"b2i{target}", value)) if source == 1 else op(f"i2i{target}", value)
    if kind in ("fptrunc", "fpext"):
        return value if source == target else op("f2f16_rtne" if target == 16 else f"f2f{target}", value)
    sign = "u" if kind in ("fptoui", "uitofp") else "i"
    if kind in ("fptoui", "fptosi"):
        wide = op(f"f2{sign}{max(target, 32)}", value)
        return wide if target >= 32 else op(f"{sign}2{sign}{target}", wide)
    if source == 1:
        found = op(f"b2f{target}", value)
        return found if sign == "u" else op("fneg", found)
    if source == 8:
        value = op(f"{sign}2{sign}32", value)
    return op(f"{sign}2f{target}", value)


def _bitcast(translation: Translation, instr: ir.Instr) -> Values:
    values = translation.value(instr.operands[0])
    source, target = lane_type(ir.type_of(instr.operands[0])), lane_type(instr.type)
    if isinstance(target, ir.Pointer):
        return values
    return regroup(translation, values, bits_of(source), bits_of(target))


def regroup(translation: Translation, values: Values, source: int, target: int) -> Values:
    """Returns the same bits in scalars of another width."""
    if source == target:
        return values
    if 1 in (source, target):
        raise UnsupportedError("unsupported by isa: the bits of a vector of truths")
    if source > target:
        return tuple(piece for value in values for piece in _split(translation, value, source, target))
    op, constant = translation.program.op, translation.program.constant
    if target == 64:
        halves = regroup(translation, values, source, 32)
        return tuple(op("pack_64_2x32_split", *pair) for pair in zip(halves[::2], halves[1::2], strict=True))
    found = []
    for start in range(0, len(values), target // source):
        whole = op(f"u2u{target}", values[start])
        for number in range(1, target // source):
            shifted = op("ishl", op(f"u2u{target}", values[start + number]), constant(number * source, 32))
            whole = op("ior", whole, shifted)
        found.append(whole)
    return tuple(found)


def _split(translation: Translation, value: Value, source: int, target: int) -> Values:
    op, constant = translation.program.op, translation.program.constant
    if source == 64:
        halves = op("unpack_64_2x32_split_x", value), op("unpack_64_2x32_split_y", value)
        return regroup(translation, halves, 32, target)
    shifted = [op("ushr", value, constant(number * target, 32)) for number in range(source // target)]
    return tuple(op(f"u2u{target}", one) for one in shifted)


def _freeze(translation: Translation, instr: ir.Instr) -> Values:
    return translation.value(instr.operands[0])


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(
        ("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr",
         "addrspacecast"), _cast
    ),
    "fdiv": _divide,
    "fneg": _negate,
    "icmp": _compare_integers,
    "fcmp": _compare_reals,
    "select": _select,
    "extractelement": _extract_element,
    "insertelement": _insert_element,
    "shufflevector": _shuffle,
    "extractvalue": _extract_value,
    "insertvalue": _insert_value,
    "bitcast": _bitcast,
    "freeze": _freeze,
}  # fmt: skip
"""By the name of the instruction."""
