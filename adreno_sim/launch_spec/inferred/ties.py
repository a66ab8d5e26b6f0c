"""What the code of a kernel says of its sizes: which numbers bound which axis, and of what they must be multiples."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import field

from ...ir import ir
from ...ir.data_dependence import accesses_depend_on_calls
from ...ir.layout import size_of
from ...records import dataclass

_OF_GROUPS = ("get_group_id", "get_local_id")
_OF_ITEMS = ("get_global_id", "get_group_id")
_OF_ALL_GROUPS = (
    "get_global_id", "get_group_id", "get_global_linear_id", "get_num_groups", "get_global_offset",
)  # fmt: skip
_CASTS = ("trunc", "zext", "sext", "freeze", "bitcast")
_CLAMPING = ("min", "max", "clamp")
_IMAGE_SIDES = {"get_image_width": 0, "get_image_height": 1, "get_image_depth": 2, "get_image_array_size": 2}
_DEEPEST = 24

_COUNTS_ITEMS = re.compile(
    r"^(n|size|count|len|length|total|(num|n|nr)_?(elem|element|item|work_?item|pixel|point|value)s?)$", re.I
)
"""Names of numbers that nothing in a kernel uses, and that count its work-items if anything."""
_BY_NAME = (
    re.compile(r"^(w|width|cols?|columns?|nx|size_?x|n)$", re.I),
    re.compile(r"^(h|height|rows?|ny|size_?y|m)$", re.I),
    re.compile(r"^(d|depth|nz|size_?z|layers?|slices?)$", re.I),
)

Number = tuple[int, int]
"""A whole number that a kernel is given: position of the parameter, and component of a vector (0 of a scalar)."""


@dataclass(frozen=True)
class Tie:
    """A number that is `scale` times the size of an axis. guarded: the code compares ids along it with the number, so that there
    may be more work-items. named: the code does not use it, its name says so."""

    axis: int
    scale: int
    guarded: bool
    named: bool = False


@dataclass
class Ties:
    """ties: by number. products: axes whose size is the product of numbers. steps: of what a number must be a multiple;
    axis_steps: of what the work-items of an axis must be. split: axes whose ids are divided by a number, which must divide the
    size. guarded_images: axes along which ids are compared with an image's extent. powers: sizes must be powers of two.
    one_group: no id of all work-items and none of a group decides what is accessed. pitches: numbers that are nothing but how far
    the starts of rows lie apart, whose columns no axis counts. local_starts: numbers at which parts of a local argument begin,
    with the bytes of an element, by its position. unguarded: axes whose numbers guard some accesses alone, so that there may be
    no more work-items. ragged: numbers that need not be a multiple of their scale, as the code tests whether the last element of
    a work-item is inside. choices: values with which the code compares a number that says no size."""

    ties: dict[Number, Tie] = field(default_factory=dict)
    products: dict[int, tuple[Number, ...]] = field(default_factory=dict)
    steps: dict[Number, int] = field(default_factory=dict)
    axis_steps: dict[int, int] = field(default_factory=dict)
    split: dict[int, set[Number]] = field(default_factory=dict)
    guarded_images: set[int] = field(default_factory=set)
    powers: bool = False
    one_group: bool = False
    pitches: set[Number] = field(default_factory=set)
    local_starts: dict[int, dict[Number, int]] = field(default_factory=dict)
    unguarded: set[int] = field(default_factory=set)
    ragged: set[Number] = field(default_factory=set)
    choices: dict[Number, set[int]] = field(default_factory=dict)

    def is_guarded(self, axis: int) -> bool:
        """Whether a launch may have more work-items along an axis than its size."""
        tied = any(tie.guarded and tie.axis == axis for tie in self.ties.values())
        return axis in self.guarded_images or (axis not in self.unguarded and (tied or axis in self.products))


@dataclass(frozen=True)
class _Ids:
    """What ids a value is made of. axes: of global ids, or of groups; scale: what they are multiplied by; exact: with nothing
    besides but constants."""

    axes: frozenset[int] = frozenset()
    scale: int = 1
    local: bool = False


@dataclass(frozen=True)
class _Sizes:
    """A value made of numbers: their product, over `divisor`; `image`: an axis of an image's extents."""

    numbers: tuple[Number, ...] = ()
    divisor: int = 1
    image: int | None = None
    plain: bool = True
    """Nothing is added to it."""


def find_ties(function: ir.Function, axes: int) -> Ties:
    """Read the sizes of a kernel with so many axes from its code, and from names where the code says nothing."""
    return _Reader(function, axes).read()


class _Reader:
    def __init__(self, function: ir.Function, axes: int):
        self.function, self.axes, self.found = function, axes, Ties()
        self.instrs = [instr for block in function.blocks for instr in block.instrs]
        self._tails: dict[Number, bool] = {}
        self._known: dict[int, _Ids] = {}
        self._grouped: dict[int, bool] = {}
        self._bounds_ids = False
        """Whether ids are compared with anything: who guards them with something else has not forgotten to."""

    def read(self) -> Ties:
        for instr in self.instrs:
            if instr.op == "icmp":
                self._read_comparison(instr)
        for instr in self.instrs:
            if instr.op == "call" and instr.callee is not None and instr.callee.name in _CLAMPING:
                self._read_clamp(instr)
        for instr in self.instrs:
            self._read_index(instr)
            self._read_part(instr)
        for instr in self.instrs:
            self._read_division(instr)
        self._read_names()
        self.found.pitches -= {*self._compared_numbers(), *self.found.ties}
        self._read_choices()
        self.found.one_group = not accesses_depend_on_calls(self.function, _OF_ALL_GROUPS)
        return self.found

    # -- what instructions say

    def _read_comparison(self, instr: ir.Instr) -> None:
        if instr.pred in ("eq", "ne"):
            return
        for one, other in (instr.operands, instr.operands[::-1]):
            ids, sizes = self._ids(one), self._sizes(other)
            self._bounds_ids |= bool(ids.axes)
            if len(ids.axes) == 1 and sizes is not None:
                self._tie(next(iter(ids.axes)), ids.scale, sizes, guarded=True)
                if 0 < _added(one) < ids.scale:
                    self.found.ragged |= set(sizes.numbers)
            elif sizes is not None and len(sizes.numbers) == 1 and (step := self._step_of(one)) > 1:
                self._need_multiple(sizes.numbers[0], step)

    def _compared_numbers(self, by_size: bool = False) -> set[Number]:
        """Numbers that are compared with anything. by_size: and not only for being equal."""
        comparisons = [instr for instr in self.instrs if instr.op == "icmp" and not (by_size and instr.pred in ("eq", "ne"))]
        compared = [operand for instr in comparisons for operand in instr.operands]
        return {number for value in compared if (sizes := self._sizes(value)) is not None for number in sizes.numbers}

    def _read_choices(self) -> None:
        """if (mode == 2), has_bias ? a : b: what a number is compared with that says no size."""
        sizes = {*self.found.ties, *self.found.steps, *self.found.pitches, *self._compared_numbers(by_size=True)}
        sizes |= {number for numbers in (*self.found.products.values(), *self.found.split.values()) for number in numbers}
        for instr in self.instrs:
            if instr.op != "icmp" or instr.pred not in ("eq", "ne"):
                continue
            number, value = _uncast(instr.operands[0]), _constant(instr.operands[1])
            if isinstance(number, ir.Param) and value is not None and (number.index, 0) not in sizes:
                self.found.choices.setdefault((number.index, 0), set()).add(value)

    def _read_clamp(self, instr: ir.Instr) -> None:
        parts = [self._ids(operand) for operand in instr.operands]
        axes = frozenset().union(*(part.axes for part in parts))
        for operand in instr.operands:
            sizes = self._sizes(operand)
            if len(axes) == 1 and sizes is not None:
                self._tie(next(iter(axes)), 1, sizes, guarded=False)

    def _read_index(self, instr: ir.Instr) -> None:
        """row * N + column: N is as many as there are columns."""
        for product, added in self._sums(instr):
            for one, other in (product, product[::-1]):
                sizes, ids, rest = self._sizes(one), self._ids(other), self._ids(added)
                if sizes is None or len(sizes.numbers) != 1 or not sizes.plain:
                    continue
                if ids.axes and not rest.axes and _constant(added) is None:
                    self.found.pitches.add(sizes.numbers[0])
                if len(rest.axes) != 1:
                    continue
                axis = next(iter(rest.axes))
                if axis not in ids.axes:
                    self._tie(axis, rest.scale * _bytes_of_pitch(instr), sizes, guarded=False)

    def _read_part(self, instr: ir.Instr) -> None:
        """A part of a local argument that begins at a number."""
        if instr.op != "gep" or len(instr.operands) != 2 or instr.elem is None:
            return
        whole, sizes = _uncast(instr.operands[0]), self._sizes(instr.operands[1])
        if not isinstance(whole, ir.Param) or not isinstance(whole.type, ir.Pointer) or whole.type.space != ir.LOCAL:
            return
        if sizes is not None and len(sizes.numbers) == 1:
            self.found.local_starts.setdefault(whole.index, {})[sizes.numbers[0]] = size_of(instr.elem)

    def _read_division(self, instr: ir.Instr) -> None:
        if instr.op not in ("sdiv", "udiv", "srem", "urem", "lshr", "ashr", "and", "xor") or isinstance(instr.type, ir.Vector):
            return
        value, by = instr.operands
        constant = _constant(by)
        sizes, ids = self._sizes(value), self._ids(value)
        if instr.op == "xor" and (ids.axes or ids.local):
            self.found.powers |= constant is None
            if constant is not None and len(ids.axes) == 1:
                self._need_axis(next(iter(ids.axes)), 1 << constant.bit_length())
            return
        if instr.op in ("and", "xor"):
            return
        divisor = constant if instr.op in ("sdiv", "udiv", "srem", "urem") or constant is None else 1 << min(constant, 30)
        if divisor is not None and sizes is not None and sizes.plain and len(sizes.numbers) == 1:
            if instr.op in ("srem", "urem"):
                self._tails[sizes.numbers[0]] = True
            elif divisor > 0:
                self._need_multiple(sizes.numbers[0], divisor)
        if len(ids.axes) != 1:
            return
        axis, other = next(iter(ids.axes)), self._sizes(by)
        if divisor is not None and 1 < divisor <= 1024:
            self._need_axis(axis, divisor)
        elif other is not None and len(other.numbers) == 1 and other.numbers[0] not in self.found.ties:
            self.found.split.setdefault(axis, set()).add(other.numbers[0])

    def _read_names(self) -> None:
        used = {id(operand) for instr in self.instrs for operand in instr.operands}
        whole = [param for param in self.function.params if isinstance(param.type, ir.Int) and param.type.bits >= 32]
        for param in whole:
            number = (param.index, 0)
            if number in self.found.ties or any(number in factors for factors in self.found.products.values()):
                continue
            if id(param) not in used and _COUNTS_ITEMS.match(param.name) and self.axes == 1 and not self.found.ties:
                self.found.ties[number] = Tie(0, 1, guarded=not self._bounds_ids, named=True)
            elif self.axes > 1:
                for axis in range(self.axes):
                    tied = any(tie.axis == axis for tie in self.found.ties.values())
                    if _BY_NAME[axis].match(param.name) and not tied:
                        self.found.ties[number] = Tie(axis, 1, guarded=False)
        for number, has_tail in self._tails.items():
            if has_tail:
                self.found.steps.pop(number, None)

    # -- what is noted

    def _tie(self, axis: int, scale: int, sizes: _Sizes, guarded: bool) -> None:
        if axis >= self.axes:
            return
        if sizes.image is not None:
            if guarded:
                self.found.guarded_images.add(axis)
        elif len(sizes.numbers) > 1:
            if not any(number in self.found.ties for number in sizes.numbers):
                self.found.products.setdefault(axis, sizes.numbers)
        elif sizes.numbers and not any(sizes.numbers[0] in factors for factors in self.found.products.values()):
            self.found.ties.setdefault(sizes.numbers[0], Tie(axis, scale * sizes.divisor, guarded))

    def _need_multiple(self, number: Number, step: int) -> None:
        self.found.steps[number] = math.lcm(self.found.steps.get(number, 1), step)

    def _need_axis(self, axis: int, step: int) -> None:
        self.found.axis_steps[axis] = math.lcm(self.found.axis_steps.get(axis, 1), step)

    # -- what values are made of

    def _ids(self, value: ir.Value, depth: int = 0) -> _Ids:
        if id(value) not in self._known:
            self._known[id(value)] = _Ids()  # what a loop brings back adds nothing
            self._known[id(value)] = self._find_ids(value, depth)
        return self._known[id(value)]

    def _find_ids(self, value: ir.Value, depth: int) -> _Ids:
        if not isinstance(value, ir.Instr) or depth > _DEEPEST:
            return _Ids()
        if value.op in _CASTS or value.op in ("phi", "insertelement"):
            return _join(self._ids(operand, depth + 1) for operand in value.operands if operand is not value)
        if value.op in ("add", "sub", "or"):
            return _join(self._ids(operand, depth + 1) for operand in value.operands)
        if value.op in ("mul", "shl"):
            scaled, by = value.operands
            if value.op == "mul" and _constant(by) is None:
                scaled, by = by, scaled
            factor = _constant(by)
            inner = self._ids(scaled, depth + 1)
            if factor is None or factor <= 0 or factor > 1 << 20:
                return _Ids()
            of_items = inner.axes and not self._is_of_groups(scaled)
            times = factor if value.op == "mul" else 1 << factor if factor < 20 else 1
            return _Ids(inner.axes, inner.scale * times if of_items else inner.scale, inner.local)
        if value.op == "extractelement":
            return self._ids(_element(value), depth + 1)
        if value.op == "select":
            return _join(self._ids(operand, depth + 1) for operand in value.operands[1:])
        return self._ids_of_call(value, depth)

    def _ids_of_call(self, value: ir.Instr, depth: int) -> _Ids:
        if value.op != "call" or value.callee is None:
            return _Ids()
        name, axis = value.callee.name, _constant(value.operands[0]) if value.operands else None
        if name in _OF_ITEMS and axis is not None and axis < 3:
            return _Ids(frozenset({axis}))
        if name == "get_local_id":
            return _Ids(local=True)
        if name in _CLAMPING:
            return _join(self._ids(operand, depth + 1) for operand in value.operands)
        return _Ids()

    def _is_of_groups(self, value: ir.Value, depth: int = 0) -> bool:
        """Whether ids of groups or in them are in it: what these are multiplied by is the size of a group."""
        if not isinstance(value, ir.Instr) or depth > _DEEPEST:
            return False
        if id(value) not in self._grouped:
            self._grouped[id(value)] = False
            of_groups = value.op == "call" and value.callee is not None and value.callee.name in _OF_GROUPS
            inner = value.op != "phi" and any(self._is_of_groups(operand, depth + 1) for operand in value.operands)
            self._grouped[id(value)] = of_groups or inner
        return self._grouped[id(value)]

    def _sizes(self, value: ir.Value, depth: int = 0) -> _Sizes | None:
        """The numbers whose product a value is, give or take a constant; None of any other."""
        if isinstance(value, ir.Param):
            return _Sizes(((value.index, 0),)) if isinstance(value.type, ir.Int) else None
        if not isinstance(value, ir.Instr) or depth > _DEEPEST:
            return None
        if value.op in _CASTS:
            return self._sizes(value.operands[0], depth + 1)
        if value.op in ("add", "sub") and _constant(value.operands[1]) is not None:
            inner = self._sizes(value.operands[0], depth + 1)
            return inner and _Sizes(inner.numbers, inner.divisor, inner.image, plain=False)
        if value.op in ("sdiv", "udiv", "lshr", "ashr") and (by := _constant(value.operands[1])):
            inner = self._sizes(value.operands[0], depth + 1)
            divisor = by if value.op in ("sdiv", "udiv") else 1 << min(by, 30)
            return inner and _Sizes(inner.numbers, inner.divisor * divisor, inner.image, inner.plain)
        if value.op == "mul":
            parts = [self._sizes(operand, depth + 1) for operand in value.operands]
            if all(part is not None and part.numbers for part in parts):
                return _Sizes(tuple(number for part in parts if part for number in part.numbers))
            return None
        if value.op == "extractelement":
            return self._component(value, depth)
        if value.op == "call" and value.callee is not None and value.callee.name in _IMAGE_SIDES:
            return _Sizes(image=_IMAGE_SIDES[value.callee.name])
        return None

    def _component(self, value: ir.Instr, depth: int) -> _Sizes | None:
        vector, at = value.operands[0], _constant(value.operands[1])
        if at is None:
            return None
        if isinstance(vector, ir.Param):
            return _Sizes(((vector.index, at),)) if at < 3 else None
        if isinstance(vector, ir.Instr) and vector.op == "call" and vector.callee and vector.callee.name == "get_image_dim":
            return _Sizes(image=at)
        element = _element(value)
        return None if element is value or element is vector else self._sizes(element, depth + 1)

    def _step_of(self, value: ir.Value) -> int:
        """By how much a counter of a loop grows; 1 of anything else."""
        while isinstance(value, ir.Instr) and (
            value.op in _CASTS or (value.op == "add" and _constant(value.operands[1]) is not None)
        ):
            value = value.operands[0]
        if not isinstance(value, ir.Instr) or value.op != "phi":
            return 1
        steps = [
            _constant(operand.operands[1]) for operand in value.operands if isinstance(operand, ir.Instr) and operand.op == "add"
        ]
        return next((step for step in steps if step is not None and 1 < step < 1 << 16), 1)

    def _sums(self, instr: ir.Instr) -> Iterator[tuple[list[ir.Value], ir.Value]]:
        """The factors and the other summand, where an instruction adds to a product."""
        if instr.op == "call" and instr.callee is not None and instr.callee.name == "mad24":
            yield instr.operands[:2], instr.operands[2]
        if instr.op == "gep" and len(instr.operands) == 2 and isinstance(row := _uncast(instr.operands[0]), ir.Instr):
            product = _uncast(row.operands[1]) if row.op == "gep" and len(row.operands) == 2 else None
            if isinstance(product, ir.Instr) and product.op == "mul":  # a row's address by its pitch in bytes
                yield product.operands, instr.operands[1]
        if instr.op != "add":
            return
        for one, other in (instr.operands, instr.operands[::-1]):
            product = _uncast(one)
            if isinstance(product, ir.Instr) and (product.op == "mul" or _is_call(product, "mul24")):
                yield product.operands, other


def _bytes_of_pitch(instr: ir.Instr) -> int:
    """How many units of a row's pitch an element is: 1 but of a pointer to elements that is made of one to bytes."""
    row = _uncast(instr.operands[0]) if instr.op == "gep" else None
    if not isinstance(row, ir.Instr) or row.elem is None or instr.elem is None:
        return 1
    return max(1, size_of(instr.elem) // size_of(row.elem))


def _added(value: ir.Value) -> int:
    """The constant that is added last in a value; 0 if none is."""
    value = _uncast(value)
    return (_constant(value.operands[1]) or 0) if isinstance(value, ir.Instr) and value.op == "add" else 0


def _is_call(instr: ir.Instr, name: str) -> bool:
    return instr.op == "call" and instr.callee is not None and instr.callee.name == name


def _uncast(value: ir.Value) -> ir.Value:
    while isinstance(value, ir.Instr) and value.op in _CASTS:
        value = value.operands[0]
    return value


def _constant(value: ir.Value) -> int | None:
    """A whole number that is written in the code; as signed."""
    if not isinstance(value, ir.Const) or not isinstance(value.value, int) or not isinstance(value.type, ir.Int):
        return None
    bits = value.type.bits
    return value.value - (1 << bits) if value.value >> (bits - 1) else value.value


def _element(value: ir.Instr) -> ir.Value:
    """What an extractelement gives, where the vector is put together of elements; else itself, or the vector."""
    vector, at = value.operands[0], _constant(value.operands[1])
    while isinstance(vector, ir.Instr) and vector.op == "insertelement" and at is not None:
        if _constant(vector.operands[2]) == at:
            return vector.operands[1]
        vector = vector.operands[0]
    return value.operands[0]


def _join(parts: Iterator[_Ids]) -> _Ids:
    found = list(parts)
    axes = frozenset().union(*(part.axes for part in found)) if found else frozenset()
    return _Ids(axes, max((part.scale for part in found), default=1), any(part.local for part in found))
