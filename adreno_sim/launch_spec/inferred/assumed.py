"""Which sizes of a kernel's launches are only assumed: an access beyond them is not a mistake of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ...ir import ir
from ...ir.builtins import builtin_of
from .choose import ALIGNED, Chooser, Shape
from .fit import Environment, Formula
from .needs import Extent
from .spec import AXES, LaunchWriter


def find_partial_guards(
    chooser: Chooser, shape: Shape, written: Collection[int], measure: Callable[[Shape], dict[int, Extent] | None]
) -> set[int]:
    """Axes along which more work-items write more, though the code compares their ids with a number: it guards reads with it, as
    of what is outside a border, and the launch has as many work-items as there is to be written."""
    guards = {tie.axis for tie in chooser.ties.ties.values() if tie.guarded and not tie.named} | chooser.ties.products.keys()
    guards = {axis for axis in guards if axis < len(shape.total) and axis not in chooser.ties.guarded_images}
    before = (measure(shape) or {}) if guards else {}
    found: set[int] = set()
    for axis in guards:
        more = chooser.group[axis] if chooser.group else ALIGNED
        total = tuple(side + more * (place == axis) for place, side in enumerate(shape.total))
        after = measure(replace(shape, total=total)) or {}
        both = [(before[index], after[index]) for index in written if index in before and index in after]
        if any(new - old >= more for one, other in both for old, new in zip(one, other, strict=True)):
            found.add(axis)
    return found


class AssumedExtents:
    """Judges whether the code says how large an argument is. written: positions of arguments that may be."""

    def __init__(self, writer: LaunchWriter, written: Collection[int]):
        self.chooser = writer.chooser
        self._axis_of = {name: axis for axis in range(self.chooser.axes) for name in self._names(writer, axis)}
        self._written = {index for index in written if isinstance(self.chooser.function.params[index].type, ir.Pointer)}
        self._sampled: set[int] = set()
        for instr in (instr for block in self.chooser.function.blocks for instr in block.instrs):
            images = {each.index for each in instr.operands if isinstance(each, ir.Param) and isinstance(each.type, ir.Image)}
            if builtin_of(instr).image == "write":
                self._written |= images
            elif any(isinstance(ir.type_of(each), ir.Sampler) for each in instr.operands):
                self._sampled |= images

    def _names(self, writer: LaunchWriter, axis: int) -> set[str]:
        params = self.chooser.function.params
        tied = {params[index].name for (index, _), tie in self.chooser.ties.ties.items() if tie.axis == axis}
        return {writer.name_of(axis), *tied, *(f"{what}_{AXES[axis]}" for what in ("items", "total", "groups"))}

    def is_assumed(
        self, index: int, formulas: Sequence[Formula], needs: Sequence[Extent], launches: Sequence[Environment]
    ) -> bool:
        """Whether an argument with these extents, where calibrations touch `needs`, may be larger than they say: they
        are made of axes alone, along which nothing is guarded.

        Reads with a sampler are none: it says what is outside. Of what is written, one that ends just behind its formula is
        shifted; one that is ever further away has rows of another length.
        """
        names = {name for formula in formulas for term in formula.sizes for name in term}
        axes = {self._axis_of[name] for name in names if name in self._axis_of} if names else set(range(self.chooser.axes))
        is_guarded = any(self.chooser.ties.is_guarded(axis) for axis in axes)
        if is_guarded or index in self._sampled or not names <= self._axis_of.keys():
            return False
        if index not in self._written:
            return True
        sides = [[need[side] - formula.of(sizes) for need, sizes in zip(needs, launches, strict=True)]
                 for side, formula in enumerate(formulas)]  # fmt: skip
        return any(min(more) > 0 and len(set(more)) > 1 for more in sides)
