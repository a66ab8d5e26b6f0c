"""Runs the truth of one PrimFunc on tensors of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import numpy as np

from ...base.errors import AdrenoSimError
from ...records import dataclass
from ..errors import StrayAccessError
from .compiled import Function, pointer
from .truth_program import NO_MEMORY, TruthProgram
from .units import Units
from .value import FLOATS


@dataclass(frozen=True)
class Truth:
    """One result without rounding. value: float64 for floats, else of the result's own type.

    sigma: standard deviation that a device's roundings give each element, float32; inf where nothing is known (out of the
    type's range, an index that rounding moves). None if the result is exact. native: float64, as a device gets it that
    computes in halves in the order of the PrimFunc; None if nothing is computed in halves. unsure: decisions on control
    flow that rounding may turn. others: further values that are as right, because rounding decides which comes; one more axis.
    """

    value: np.ndarray
    sigma: np.ndarray | None = None
    native: np.ndarray | None = None
    unsure: int = 0
    others: np.ndarray | None = None


class OutOfRange(AdrenoSimError):
    """A PrimFunc reads or writes outside of a tensor on these arguments."""


Given = Union[Truth, int, float]
"""An argument: a tensor, or a scalar."""


def run_program(program: TruthProgram, function: Function, args: Sequence[Given], units: Units) -> list[Truth | None]:
    """The tensors that a program writes, by parameter; None for the others and for scalars.

    function: its machine code. args: before the call, in the shapes of the parameters; of one that the program takes for exact
    only the value counts. Raises OutOfRange where an index leaves its tensor, StrayAccessError if no input
    decides that, and AdrenoSimError without memory.
    """
    values: list[np.ndarray | None] = []
    companions: list[tuple[np.ndarray, ...]] = []
    numbers: list[int] = []
    floats = _as_floats(program, args)
    for place, (param, arg) in enumerate(zip(program.params, args, strict=True)):
        companions.append(())
        if not isinstance(arg, Truth):
            numbers.append(int(arg))
            values.append(None)
            continue
        assert param.tensor is not None
        numbers += arg.value.shape
        if place in floats:
            values.append(floats[place])
            continue
        with np.errstate(invalid="ignore"):  # NaN of any kind
            value = arg.value.astype(np.float64 if param.dtype in FLOATS else arg.value.dtype, copy=True)
        values.append(value)
        if not param.tensor.exact:
            # A tensor without axes stays an array: NumPy makes numbers of such results.
            variance = np.zeros(value.shape) if arg.sigma is None else np.asarray(np.square(arg.sigma, dtype=np.float64))
            native = np.array(value if arg.native is None else arg.native, np.float64)
            companions[-1] = (variance, native) if program.native else (variance,)
    pointers = [
        number
        for place, (value, others) in enumerate(zip(values, companions, strict=True))
        if value is not None
        for number in [pointer(value), *map(pointer, others), int(place in floats), 0][:3]
    ]
    unsure = np.zeros(1, np.int64)
    packed = (np.array(pointers, np.uintp), np.array(numbers, np.int64), units.table(), unsure)
    status = function(*map(pointer, packed))
    if status == NO_MEMORY:
        raise AdrenoSimError("no memory for what its reference computes on the way")
    if status < 0:
        tensor = program.tensors[-status - 2]
        raise StrayAccessError(f"its PrimFunc accesses {tensor} outside of its shape, whatever the inputs hold")
    if status:
        raise OutOfRange(
            f"on these inputs an index leaves {program.tensors[status - 1]}; give inputs that suit the model (--input)"
        )
    results: list[Truth | None] = []
    for param, made, others in zip(program.params, values, companions, strict=True):
        if made is None or param.tensor is None or not param.tensor.written:
            results.append(None)
            continue
        drifted = others[1] if len(others) > 1 and param.dtype in FLOATS else None
        results.append(Truth(made, standard_deviation(others[0]) if others else None, drifted, int(unsure[0])))
    return results


def _as_floats(program: TruthProgram, args: Sequence[Given]) -> dict[int, np.ndarray]:
    """The large arguments that the program takes as floats, by position; none if one of them is not a float."""
    given = {place: arg.value for place in program.large if isinstance(arg := args[place], Truth)}
    if any(array.dtype.name not in ("bfloat16", "float16", "float32") for array in given.values()):
        return {}
    return {place: np.ascontiguousarray(array, np.float32) for place, array in given.items()}


def standard_deviation(variance: np.ndarray) -> np.ndarray:
    """Returns the square root of each variance, as float32; inf for NaN.

    Only a variance of zero gives zero. A wider twin has results that no float32 holds, and a standard deviation that underflows
    would ask of them that they are exact; the smallest float32 is less than any kernel's own type resolves.
    """
    least = np.finfo(np.float32).smallest_subnormal
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        root = np.where(np.isnan(variance), np.inf, np.sqrt(variance)).astype(np.float32)
        return np.where(variance == 0, np.float32(0), root + least)
