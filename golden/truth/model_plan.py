"""A model's calls in order, as data: which program runs when, on which tensors."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Union

import numpy as np

from ...records import dataclass
from .operators.operator import Operator
from .truth_program import TruthProgram
from .value import Unmodelled


@dataclass(frozen=True)
class Sizes:
    """The value of a shape."""

    values: tuple[int, ...]


Place = Union[int, Sizes, tuple["Place", ...]]
"""A tensor by its number among all of a run, a shape, or a tuple of places."""


@dataclass(frozen=True)
class TruthStep:
    """A call of a program. args: numbers of tensors; results: shapes and types of what it makes, numbered from `first`.

    sizes: values of its scalar parameters behind the results. scalars: those among the arguments, each with its position.
    """

    program: int
    args: tuple[int, ...]
    first: int
    results: tuple[tuple[tuple[int, ...], str], ...]
    sizes: tuple[int, ...]
    scalars: tuple[tuple[int, int], ...] = ()


@dataclass
class Plan:
    """One function of a model as calls in order. dtypes, exact, native: by tensor; native: also known as halves give it."""

    programs: list[TruthProgram | Operator] = field(default_factory=list)
    steps: list[TruthStep] = field(default_factory=list)
    constants: dict[int, np.ndarray] = field(default_factory=dict)
    dtypes: list[str] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    native: list[bool] = field(default_factory=list)
    last_use: dict[int, int] = field(default_factory=dict)
    result: Place = 0

    def add(self, dtype: str, exact: bool, native: bool) -> int:
        self.dtypes.append(dtype)
        self.exact.append(exact)
        self.native.append(native)
        return len(self.exact) - 1

    def note_last_uses(self) -> None:
        """Note the last step that reads each tensor."""
        for index, step in enumerate(self.steps):
            self.last_use.update(dict.fromkeys(step.args, index))

    def only(self, number: int) -> Plan:
        """The part of this plan that computes one tensor."""
        wanted, steps = {number}, []
        for step in reversed(self.steps):
            if wanted & set(range(step.first, step.first + len(step.results))):
                wanted |= set(step.args)
                steps.append(step)
        used = sorted({step.program for step in steps})
        place = {program: at for at, program in enumerate(used)}
        part = replace(
            self, programs=[self.programs[program] for program in used], last_use={}, result=number,
            steps=[replace(step, program=place[step.program]) for step in reversed(steps)],
        )  # fmt: skip
        part.note_last_uses()
        return part

    def content(self) -> list[object]:
        """All that its outputs depend on besides the inputs, for the key of a cache."""
        return [
            *(program.text for program in self.programs),
            self.steps,
            self.result,
            *(part for item in self.constants.items() for part in item),
        ]


def flatten(place: Place) -> list[int]:
    """The tensors of a place, in order."""
    if isinstance(place, Sizes):
        raise Unmodelled("a shape where a tensor is expected")
    return [place] if isinstance(place, int) else [number for item in place for number in flatten(item)]
