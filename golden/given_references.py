"""References that the caller gives for functions by name, as callables over NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import AdrenoSimError
from ..results.comparison import tolerated
from ..results.expected import Expected
from .expectations import KernelExpectations
from .kernel_reference import Argument

GivenReference = Callable[..., Any]
"""It is given a copy of each argument, in the order of the parameters. It writes its results in place, as the PrimFunc does, or
returns one item for each argument: what it should hold after the call (float64 counts unrounded), None if nothing is said."""


class GivenReferences:
    """The functions that have a given reference.

    rounding: knows how far rounding may take the results of some of them; of the others, their type's tolerance judges.
    """

    def __init__(self, given: Mapping[str, GivenReference], rounding: KernelExpectations | None = None):
        for name, reference in given.items():
            if not callable(reference):
                raise AdrenoSimError(
                    f"reference of {name}: {type(reference).__name__}: expected a callable over NumPy arrays, or a PrimFunc"
                )
        self._given = dict(given)
        self._rounding = rounding

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def expect(self, name: str, args: Sequence[Argument]) -> list[Expected | None]:
        """What each argument should hold after the call, None if it is a scalar or nothing is said of it.

        args: contents before the call. Raises AdrenoSimError if the reference fails, or gives results of other shapes.
        """
        copies = [np.array(arg, order="C") if isinstance(arg, np.ndarray) else arg for arg in args]
        try:
            returned = self._given[name](*copies)
        except AdrenoSimError:
            raise
        except Exception as error:  # the caller's code raises anything
            raise AdrenoSimError(f"the given reference raised {type(error).__name__}: {error}") from error
        after = copies if returned is None else list(returned) if isinstance(returned, (list, tuple)) else [returned]
        if len(after) != len(args):
            raise AdrenoSimError(
                f"the given reference returned {len(after)} items: expected one for each of the {len(args)} arguments, or None "
                "where it wrote its results in place"
            )
        results = [_expected(position, arg, result) for position, (arg, result) in enumerate(zip(args, after, strict=True))]
        if self._rounding is None or not self._rounding.has_truth(name):
            return results
        known = self._rounding.expect(name, args)
        return [_with_rounding(result, own) for result, own in zip(results, known, strict=True)]


def _with_rounding(result: Expected | None, own: Expected | None) -> Expected | None:
    """A given result, off by as much as its type or the rounding of the PrimFunc's own order allows."""
    if result is None or own is None or own.allowed is None or result.array.dtype.kind != "f":
        return result
    return replace(result, allowed=np.fmax(own.allowed, tolerated(result.array)), unsure=own.unsure)


def _expected(position: int, arg: Argument, result: Any) -> Expected | None:
    if not isinstance(arg, np.ndarray) or result is None:
        return None
    array = np.asarray(result)
    if array.shape != arg.shape:
        raise AdrenoSimError(f"the given reference says {list(array.shape)} of argument {position}, which is {list(arg.shape)}")
    if array.dtype == arg.dtype:
        return Expected(array)
    if arg.dtype.kind == "f" and array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return Expected(array.astype(arg.dtype), array.astype(np.float64))
    raise AdrenoSimError(f"the given reference says {array.dtype} of argument {position}, which is {arg.dtype}")
