"""Affine rules of built-in functions whose integer results are known or bounded: ids, sizes, image extents, min, max, clamp."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...ir import ir, llvm_types
from .affine import AffineForms, Rule, bits_of
from .bounds import Bounds
from .linear import Linear

BUILTIN_RULES: dict[str, Rule] = {}


def _call(*names: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        BUILTIN_RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def _axis(instr: ir.Instr) -> int | None:
    index = instr.operands[0]
    return index.value if isinstance(index, ir.Const) and isinstance(index.value, int) else None


@_call("get_global_id", "get_local_id", "get_group_id", "get_global_offset")
def _ids(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    assert instr.callee is not None
    axis = _axis(instr)
    if axis is None:
        return None
    if axis > 2:
        return Linear.number(0)
    return {
        "get_global_id": forms.global_id, "get_local_id": forms.local_id, "get_group_id": forms.group_id,
        "get_global_offset": lambda axis: Linear.number(forms.facts.offset[axis]),
    }[instr.callee.name](axis)  # fmt: skip


@_call("get_global_size", "get_num_groups", "get_local_size", "get_enqueued_local_size")
def _sizes(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    assert instr.callee is not None
    axis, facts = _axis(instr), forms.facts
    if axis is None:
        return None
    if axis > 2:
        return Linear.number(1)
    if instr.callee.name == "get_local_size" and not facts.uniform:
        return forms.new_bounded(1, facts.local_size[axis])
    sizes = {"get_global_size": facts.global_size, "get_num_groups": facts.groups}
    return Linear.number(sizes.get(instr.callee.name, facts.local_size)[axis])


@_call("get_local_linear_id")
def _local_linear(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    x, y, _ = forms.facts.local_size
    if not forms.facts.uniform:
        return forms.new_bounded(0, math.prod(forms.facts.local_size) - 1)
    return forms.local_id(0).plus(forms.local_id(1), x).plus(forms.local_id(2), x * y)


@_call("get_global_linear_id")
def _global_linear(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    x, y, _ = forms.facts.global_size
    ids = [forms.global_id(axis, with_offset=False) for axis in range(3)]
    return ids[0].plus(ids[1], x).plus(ids[2], x * y)


@_call("get_sub_group_local_id", "get_sub_group_size", "get_max_sub_group_size", "get_sub_group_id", "get_num_sub_groups")
def _sub_group(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    assert instr.callee is not None
    wave = forms.facts.wave_size
    most = -(-math.prod(forms.facts.local_size) // wave)
    ends = {
        "get_sub_group_local_id": (0, wave - 1), "get_sub_group_size": (1, wave), "get_max_sub_group_size": (wave, wave),
        "get_sub_group_id": (0, most - 1), "get_num_sub_groups": (1, most),
    }  # fmt: skip
    return forms.new_bounded(*ends[instr.callee.name])


@_call("get_image_width", "get_image_height", "get_image_depth", "get_image_array_size")
def _image_extent(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    assert instr.callee is not None
    image = instr.operands[0]
    known = forms.facts.arguments[image.index] if isinstance(image, ir.Param) else None
    if not isinstance(known, tuple):
        return None
    return Linear.number(known[{"width": 0, "height": 1}.get(instr.callee.name.rpartition("_")[2], 2)])


@_call("get_image_dim")
def _image_dim(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    image = instr.operands[0]
    known = forms.facts.arguments[image.index] if isinstance(image, ir.Param) else None
    if not isinstance(known, tuple) or not isinstance(image.type, ir.Image):
        return None
    return Linear.number(known[lane] if lane < (3 if image.type.kind == "image3d" else 2) else 0)


@_call("min", "max")
def _min_max(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """min or max: bounded by the operands, and constrained to be at most (at least) each of them."""
    assert instr.callee is not None
    operands = [_lane_form(forms, v, lane) for v in instr.operands]
    if any(f is None for f in operands):
        return None
    values = [f for f in operands if f is not None]
    ends = [bounds.range_of(f) for f in values]
    if is_unsigned(instr, 0) and min(low for low, _ in ends) < 0:
        return None
    pick, sign = (min, 1) if instr.callee.name == "min" else (max, -1)
    result = forms.new_bounded(pick(low for low, _ in ends), pick(high for _, high in ends))
    for symbol in result.terms:
        forms.symbols[symbol].constraints += [result.plus(f, -1).times(sign) for f in values]
    return result


@_call("clamp")
def _clamp(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """clamp(x, low, high) = min(max(x, low), high), bounded by the ends of its operands."""
    operands = [_lane_form(forms, v, lane) for v in instr.operands]
    if any(f is None for f in operands):
        return None
    value, low, high = (bounds.range_of(f) for f in operands if f is not None)
    if is_unsigned(instr, 0) and min(value[0], low[0], high[0]) < 0:
        return None
    ends = [min(max(value[i], low[i]), high[i]) for i in (0, 1)]
    return forms.new_bounded(ends[0], ends[1])


@_call("abs")
def _abs(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    value = forms.of(instr.operands[0], lane)
    low, high = bounds.range_of(value)
    if is_unsigned(instr, 0) or low <= -(1 << (bits_of(instr.type) - 1)):
        return None
    return value if low >= 0 else forms.new_bounded(0, max(-low, high))


@_call("select")
def _select(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    ends = [bounds.range_of(forms.of(v, lane)) for v in instr.operands[:2] if isinstance(llvm_types.elem_of(v.type), ir.Int)]
    return forms.new_bounded(min(e[0] for e in ends), max(e[1] for e in ends)) if len(ends) == 2 else None


@_call("mul24", "mad24")
def _mul24(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """mul24 and mad24: the product, if both factors are proven to fit 24 bits (OpenCL C 6.15.3)."""
    low, high = (0, (1 << 24) - 1) if is_unsigned(instr, 0) else (-(1 << 23), (1 << 23) - 1)
    left, right, *more = (forms.of(v, lane) for v in instr.operands)
    if not bounds.implies_within(left, low, high) or not bounds.implies_within(right, low, high) or (left.terms and right.terms):
        return None
    product = right.times(left.const) if not left.terms else left.times(right.const)
    if forms.if_fits(instr, product, bounds) is None:
        return None
    return forms.if_fits(instr, product.plus(more[0]), bounds) if more else product


def _lane_form(forms: AffineForms, value: ir.Value, lane: int) -> Linear | None:
    """Returns the form of one lane of an integer operand; a scalar stands for all lanes. None if it is no integer."""
    if not isinstance(llvm_types.elem_of(value.type), ir.Int):
        return None
    return forms.of(value, lane if isinstance(value.type, ir.Vector) else 0)


def is_unsigned(instr: ir.Instr, operand: int) -> bool:
    """Returns whether an operand of a built-in function is unsigned in the source. IR types do not tell."""
    assert instr.callee is not None
    return instr.callee.args[operand].startswith("u") or instr.callee.args[operand] == "size_t"
