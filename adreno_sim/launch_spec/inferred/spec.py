"""The launch file of an inferred launch: numbers and extents by the sizes of its axes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...ir import ir
from .. import expressions
from ..skeleton.guess import Guess, Skeleton
from .choose import Chooser, Shape
from .fit import Environment, Formula

AXES = "xyz"
ROOM = 1 << 17
"""Elements of a buffer that has room for all that a launch touches."""
CONSTANT_ROOM = 1 << 10
"""The same for memory in the constant address space; a device has little of it."""
IMAGE_ROOM = {1: (4096,), 2: (192, 192), 3: (96, 96, 24)}
"""Texels of an image that has, by its sides: of layers, and of a depth, these are the least."""
LAYERS_MORE, MOST_LAYERS = 8, 136
SIDES = ("width", "height", "depth", "layers")

Extents = Mapping[int, Sequence[Formula]]
"""Formulas of a buffer's elements, or of an image's sides, by the position of the argument."""


class LaunchWriter:
    """Makes skeletons of launches of one kernel. base: what is guessed without sizes."""

    def __init__(self, base: Skeleton, chooser: Chooser):
        self.base, self.chooser = base, chooser
        self.local_rows = 1
        """Elements of a local argument for each work-item of a group."""

    def sizes(self, shape: Shape) -> dict[str, int]:
        """The sizes of a launch by name: its numbers, and those of its axes that no number counts."""
        found: dict[str, int] = {}
        for param in self.chooser.scalars:
            if param.name and not expressions.find_wrong_name(param.name):
                found[param.name] = shape.numbers[param.index, 0]
        for axis, size in enumerate(shape.sizes):
            if self._named(axis) is None:
                found[f"items_{AXES[axis]}"] = size
        for axis, side in enumerate(shape.group or ()):
            found[f"groups_{AXES[axis]}"] = shape.total[axis] // side
        for axis in range(self.chooser.axes):
            if self.chooser.ties.is_guarded(axis):
                found[f"total_{AXES[axis]}"] = shape.total[axis]
        return found

    @property
    def axis_names(self) -> set[str]:
        """What the sizes of axes are called, and their work-items."""
        tied = {number for number, tie in self.chooser.ties.ties.items() if tie.scale == 1}
        names = {param.name for param in self.chooser.scalars if (param.index, 0) in tied}
        return names | {f"{what}_{AXES[axis]}" for axis in range(self.chooser.axes) for what in ("items", "total")}

    def name_of(self, axis: int) -> str:
        """What the size of an axis is called."""
        return self._named(axis) or f"items_{AXES[axis]}"

    def _named(self, axis: int) -> str | None:
        """The number that is as large as an axis."""
        for param in self.chooser.scalars:
            tie = self.chooser.ties.ties.get((param.index, 0))
            if tie is not None and tie.axis == axis and tie.scale == 1 and not expressions.find_wrong_name(param.name):
                return param.name
        return None

    def roomy(self, shape: Shape) -> Skeleton:
        """The launch with room for all that it touches."""
        params = self.chooser.function.params
        return self._make(shape, lambda index, keys: _room(params[index], keys, max(shape.total)))

    def tight(self, shape: Shape, extents: Extents, decide: bool = False) -> Skeleton:
        """The launch whose arguments are as large as is meant. decide: with the comments of what is guessed."""
        made = self._make(shape, lambda index, keys: [str(formula) for formula in extents.get(index, ())])
        if decide:
            made.decide = dict(self.base.decide)
            for argument, guess in zip(made.arguments, self.base.arguments, strict=True):
                argument.decide = dict(guess.decide) if argument.keys["kind"] != "scalar" or "value" in guess.decide else {}
        return made

    def _make(self, shape: Shape, extents: Callable[[int, dict[str, Any]], Sequence[int | str]]) -> Skeleton:
        made = copy.deepcopy(self.base)
        made.values = self.sizes(shape)
        made.global_size, made.local_size = tuple(self._total(axis, shape) for axis in range(self.chooser.axes)), shape.group
        made.decide = {}
        for index, (param, argument) in enumerate(zip(self.chooser.function.params, made.arguments, strict=True)):
            argument.decide = {}
            self._set_number(param, argument, shape, made.values)
            if argument.keys["kind"] == "local" and made.local_size is not None:
                starts = self.chooser.ties.local_starts.get(index, {})
                parts = sum(shape.numbers.get(number, 0) * size for number, size in starts.items())
                argument.keys["nbytes"] = argument.keys["nbytes"] * self.local_rows + parts
            names = [key for key in ("count", *SIDES) if key in argument.keys]
            for name, extent in zip(names, extents(index, argument.keys), strict=False):
                argument.keys[name] = extent if not str(extent).isdigit() else int(extent)
        used = " ".join(map(str, [*made.global_size, *(value for each in made.arguments for value in each.keys.values())]))
        made.values = {name: value for name, value in made.values.items() if name.partition("_")[0] not in _OURS or name in used}
        return made

    def _total(self, axis: int, shape: Shape) -> int | str:
        """The work-items of an axis, by the name of its size where that says them."""
        size, total, name = shape.sizes[axis], shape.total[axis], self.name_of(axis)
        if size == total and not (shape.group and self.chooser.ties.is_guarded(axis)):
            return name
        side = shape.group[axis] if shape.group else 0
        return f"ceildiv({name}, {side}) * {side}" if side and -(-size // side) * side == total else total

    def _set_number(self, param: ir.Param, argument: Guess, shape: Shape, names: Environment) -> None:
        numbers = shape.numbers
        if (param.index, 0) in numbers and isinstance(param.type, ir.Int):
            argument.keys["value"] = param.name if param.name in names else numbers[param.index, 0]
        elif (
            isinstance(param.type, ir.Vector)
            and isinstance(param.type.elem, ir.Int)
            and isinstance(argument.keys.get("value"), list)
        ):
            tied = [numbers.get((param.index, at)) for at in range(len(argument.keys["value"]))]
            sizes = [*shape.sizes, 1, 1, 1, 1]
            argument.keys["value"] = [sizes[min(at, 3)] if value is None else value for at, value in enumerate(tied)]


_OURS = ("items", "groups", "total")


def _room(param: ir.Param, keys: Mapping[str, Any], most: int) -> Sequence[int]:
    """Elements or texels of what has room. most: work-items along an axis; each of them may have a layer."""
    sides = sum(key in keys for key in SIDES)
    if sides == 3:
        *plane, layers = IMAGE_ROOM[sides]
        return *plane, min(max(layers, most + LAYERS_MORE), MOST_LAYERS)
    if sides:
        return IMAGE_ROOM[sides]
    constant = isinstance(param.type, ir.Pointer) and param.type.space == ir.CONSTANT
    return (CONSTANT_ROOM if constant else ROOM,)
