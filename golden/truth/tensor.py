"""A buffer of a PrimFunc in C, in memory as a whole or strip by strip."""

from __future__ import annotations

from collections.abc import Sequence

from ...records import dataclass


@dataclass(frozen=True)
class Strip:
    """What of a tensor is in memory at one time: `width` places of dimension `axis`, from the C variable `base` on."""

    axis: int
    base: str
    width: int


@dataclass
class Tensor:
    """Values at `name`, variances at `name`_q unless it is exact, `size` elements.

    title: its name in the PrimFunc. number: of its place among all tensors, from 1, for errors. dims: C text of its dimensions;
    extents: those that are constant. strip: None = all of it is in memory. passed: none of it is in memory, and variables hold
    the element that is computed.
    """

    name: str
    title: str
    dtype: str
    dims: list[str]
    number: int
    extents: list[int | None]
    exact: bool = True
    written: bool = False
    strip: Strip | None = None
    passed: bool = False

    @property
    def size(self) -> str:
        """How many elements are in memory."""
        dims = [dim for _, dim in self._layout()]
        return " * ".join(dims) or "1"

    def element(self, position: str, end: str = "") -> str:
        """An element, or what accompanies it, as a variable in C."""
        return self.name + end if self.passed else f"{self.name}{end}[{position}]"

    def position(self, indices: Sequence[str]) -> str:
        """Where the element with these indices is; those of a strip lie side by side."""
        text = ""
        for axis, dim in self._layout():
            index = f"({indices[axis]} - {self.strip.base})" if self.strip and axis == self.strip.axis else indices[axis]
            text = f"({text}) * {dim} + {index}" if text else f"(int64_t){index}"
        return text or "0"

    def _layout(self) -> list[tuple[int, str]]:
        """The dimensions in the order of memory, each with how many places of it there are."""
        dims = list(enumerate(self.dims))
        if self.strip is None:
            return dims
        return [*(pair for pair in dims if pair[0] != self.strip.axis), (self.strip.axis, f"{self.strip.width}LL")]
