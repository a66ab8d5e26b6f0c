"""Work sizes and numbers of a launch that the code of a kernel allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from ...ir import ir
from ...records import dataclass
from ..skeleton.guess import is_factor, is_offset
from .ties import Number, Ties

FREE = (3, 5, 7, 4, 6)
"""Values of numbers that count no axis, in turn."""
CALIBRATIONS = ((23, 19, 5), (41, 13, 7), (31, 47, 3))
"""Sizes along the axes of the launches that find out what is touched."""
CALIBRATION_GROUPS = ((2, 3, 1), (5, 2, 2), (3, 4, 1))
CALIBRATION_FREE = ((3, 5, 7, 11), (5, 7, 4, 6), (7, 4, 9, 5))
LEAST_POWER = 8
"""The least size where sizes must be powers of two: more than the numbers are."""
LEAST_PITCH = 16
"""Rows have at least so many elements if only their distance is known."""
ALIGNED = 8
"""More work-items than the size: up to the next multiple of this, where groups say nothing."""
MOST_CHOICES = 4
"""Launches in which a number has a value that the code compares it with."""


@dataclass(frozen=True)
class Shape:
    """sizes: what the axes have; total: work-items along them, which are more where the code guards against it; group: of
    work-items, None if the device may choose it. numbers: by parameter and component. widened: a number takes another way
    through the code than the launches that extents were fitted to, so that arguments have at least what is touched."""

    sizes: tuple[int, ...]
    total: tuple[int, ...]
    group: tuple[int, ...] | None
    numbers: dict[Number, int]
    widened: bool = False

    @property
    def items(self) -> int:
        return math.prod(self.total)


@dataclass(frozen=True)
class Chooser:
    """Makes shapes for a kernel. group: of work-items, None if the device may choose it."""

    function: ir.Function
    ties: Ties
    axes: int
    group: tuple[int, ...] | None

    def choose(self, wanted: Sequence[int], free: Sequence[int] = FREE, rounded: bool = False, ragged: bool = False) -> Shape:
        """The shape next to these sizes. rounded: with more work-items than the sizes, along axes that are guarded. ragged: with
        one element less, where the code says that the last work-item may have fewer."""
        numbers = self._free_numbers(free)
        sizes = [self._size(axis, wanted[axis], numbers) for axis in range(self.axes)]
        for number, tie in self.ties.ties.items():
            numbers[number] = tie.scale * sizes[tie.axis] - (ragged and tie.scale > 1 and number in self.ties.ragged)
        widest = max([LEAST_PITCH, *sizes, *numbers.values(), *(self.group or ())])
        for number in self.ties.pitches & numbers.keys():
            numbers[number] = self._multiple(widest + 1, self.ties.steps.get(number, 1))
        total = [self._total(axis, size, rounded) for axis, size in enumerate(sizes)]
        return Shape(tuple(sizes), tuple(total), self.group, numbers)

    @cached_property
    def scalars(self) -> list[ir.Param]:
        """Whole numbers that the kernel is given, by which sizes may be meant."""
        return [param for param in self.function.params if isinstance(param.type, ir.Int) and param.type.bits >= 32]

    def _free_numbers(self, free: Sequence[int]) -> dict[Number, int]:
        numbers: dict[Number, int] = {}
        for place, param in enumerate(self.scalars):
            number = (param.index, 0)
            value = 0 if is_offset(param.name) else 1 if is_factor(param.name) else free[place % len(free)]
            value = 1 << (value.bit_length() - 1) if self.ties.powers and value > 1 else value
            numbers[number] = value if value < 2 else value * self.ties.steps.get(number, 1)
        for factors in self.ties.products.values():
            for place, number in enumerate(factors):
                numbers[number] = max(2, free[place % len(free)])
        return numbers

    def _size(self, axis: int, wanted: int, numbers: dict[Number, int]) -> int:
        if self.ties.one_group:
            return self.group[axis] if self.group else 1
        if factors := self.ties.products.get(axis):
            others = math.prod(numbers[number] for number in factors[1:])
            numbers[factors[0]] = max(1, round(wanted / others))
            return math.prod(numbers[number] for number in factors)
        guarded = self.ties.is_guarded(axis)
        steps = [] if guarded else [self.ties.axis_steps.get(axis, 1), self.group[axis] if self.group else 1]
        steps += [numbers[number] for number in self.ties.split.get(axis, ()) if number in numbers]
        for number, tie in self.ties.ties.items():
            if tie.axis == axis and (step := self.ties.steps.get(number)):
                steps.append(step // math.gcd(step, tie.scale))
        size = self._multiple(wanted, math.lcm(*(step or 1 for step in steps)))
        return max(LEAST_POWER, 1 << (size - 1).bit_length()) if self.ties.powers else size

    def _multiple(self, value: int, step: int) -> int:
        return max(1, -(-value // step)) * step

    def _total(self, axis: int, size: int, rounded: bool) -> int:
        guarded = self.ties.is_guarded(axis)
        if self.ties.one_group:
            return size
        if self.group:
            return self._multiple(size, self.group[axis])
        return (size // ALIGNED + 1) * ALIGNED if rounded and guarded else size


def list_shapes(chooser: Chooser, least: int, most: int) -> list[Shape]:
    """The shapes that are tried, fewest work-items first: tight, odd, and with more work-items than sizes where the code guards
    against it. least, most: sizes along an axis."""
    axes = chooser.axes
    base = {1: ((5,), (33,), (64,), (100,)), 2: ((5, 3), (8, 8), (17, 33)), 3: ((5, 3, 2), (4, 4, 4))}[axes]
    wanted = [sizes for sizes in base if all(least <= size <= most for size in sizes)] or [(least,) * axes, (most,) * axes]
    if chooser.group:
        wanted += [tuple(min(most, size + 1) for size in chooser.group), tuple(min(most, 2 * size) for size in chooser.group)]
    found: dict[tuple[object, ...], Shape] = {}
    for sizes in wanted:
        for rounded in (False, True):
            shape = chooser.choose(sizes, rounded=rounded, ragged=rounded)
            found.setdefault((shape.sizes, shape.total), shape)
    first = next(iter(found.values()))
    for number, value in list(_list_choices(chooser, first))[:MOST_CHOICES]:
        found[number, value] = replace(first, numbers={**first.numbers, number: value}, widened=True)
    return sorted(found.values(), key=lambda shape: (shape.items, shape.total, shape.sizes))


def _list_choices(chooser: Chooser, shape: Shape) -> Iterator[tuple[Number, int]]:
    """Numbers with the values that the code compares them with, other than those of a shape."""
    for number, values in sorted(chooser.ties.choices.items()):
        for value in sorted(values):
            if number in shape.numbers and shape.numbers[number] != value:
                yield number, value


def list_calibrations(chooser: Chooser) -> list[Shape]:
    """Shapes by which it is found out what is touched: no two sizes are alike."""
    shapes: list[Shape] = []
    for sizes, groups, free in zip(CALIBRATIONS, CALIBRATION_GROUPS, CALIBRATION_FREE, strict=True):
        of_groups = [max(1, count * side - 3) for count, side in zip(groups, chooser.group or (), strict=False)]
        wanted = [LEAST_POWER << len(shapes)] * len(sizes) if chooser.ties.powers else of_groups or sizes
        shapes.append(chooser.choose(wanted, free, rounded=True))
    return shapes
