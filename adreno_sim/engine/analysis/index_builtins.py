"""Affine rules of built-in functions whose integer results are known or bounded: ids, sizes, image extents, min, max, clamp."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...ir import ir
from .affine import AffineForms, Rule, lane_of
from .bounds import Bounds
from .interval_rules import factors_24, is_unsigned
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
    result = forms.bounded_by_rule(instr, lane, bounds)
    sign = 1 if instr.callee.name == "min" else -1
    values = [forms.of(value, lane_of(value, lane)) for value in instr.operands]
    if result is None or (is_unsigned(instr, 0) and min(bounds.range_of(value).low for value in values) < 0):
        return result
    for symbol in result.terms:
        forms.symbols[symbol].constraints += [result.plus(value, -1).times(sign) for value in values]
    return result


@_call("abs")
def _abs(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    value = forms.of(instr.operands[0], lane)
    known = is_unsigned(instr, 0) or bounds.range_of(value).low >= 0
    return value if known else forms.bounded_by_rule(instr, lane, bounds)


@_call("mul24", "mad24")
def _mul24(forms: AffineForms, instr: ir.Instr, lane: int, bounds: Bounds) -> Linear | None:
    """mul24 and mad24: the product, if both factors are proven to fit 24 bits (OpenCL C 6.15.3)."""
    left, right, *more = (forms.of(v, lane) for v in instr.operands)
    if left.terms and right.terms:
        return forms.bounded_by_rule(instr, lane, bounds)
    if not all(bounds.implies_within(factor, *factors_24(is_unsigned(instr, 0))) for factor in (left, right)):
        return None
    product = right.times(left.const) if not left.terms else left.times(right.const)
    if forms.if_fits(instr, product, bounds) is None:
        return None
    return forms.if_fits(instr, product.plus(more[0]), bounds) if more else product
