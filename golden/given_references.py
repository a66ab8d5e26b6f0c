"""References that the caller gives for functions by name: a callable over NumPy arrays, or another PrimFunc for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from ..base.errors import AdrenoSimError
from ..compiler.tvm_bridge.versions import import_tvm
from ..results.expected import Expected
from .kernel_reference import Argument, KernelReference

GivenReference = Union[Callable[..., Any], Any]
"""A callable, or a PrimFunc with the same parameters that TVM's llvm target compiles (TVM has such ones for attention).

A callable is given a copy of each argument, in the order of the parameters. It writes its results in place, as the PrimFunc does,
or returns one item for each argument: what it should hold after the call (float64 counts unrounded), None where nothing is said.
"""


class GivenReferences:
    """The functions that have a given reference. Raises AdrenoSimError for what is neither a callable nor a PrimFunc that TVM
    compiles for the CPU."""

    def __init__(self, given: Mapping[str, GivenReference]):
        self._given: dict[str, GivenReference] = {}
        for name, reference in given.items():
            self._given[name] = self._from_prim_func(name, reference) if _is_prim_func(reference) else reference
            if not callable(self._given[name]):
                raise AdrenoSimError(
                    f"reference of {name}: {type(reference).__name__}: expected a callable over NumPy arrays, or a PrimFunc"
                )

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def expect(self, name: str, args: Sequence[Argument]) -> list[Expected | None]:
        """What each argument should hold after the call, None where it is a scalar or nothing is said of it.

        args: contents before the call. Raises AdrenoSimError where the reference fails, or gives results of other shapes.
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
        return [_expected(position, arg, result) for position, (arg, result) in enumerate(zip(args, after, strict=True))]

    @staticmethod
    def _from_prim_func(name: str, function: Any) -> Callable[..., Any]:
        reference = KernelReference(import_tvm().IRModule({name: function.with_attr("global_symbol", name)}))
        if reason := reference.unavailable.get(name):
            raise AdrenoSimError(
                f"reference of {name}: {reason}; give one that is written for the CPU, or a callable over arrays"
            )
        wanted = len(function.params)

        def run(*args: Argument) -> list[np.ndarray | None]:
            if len(args) != wanted:
                raise AdrenoSimError(f"the given reference takes {wanted} arguments, the kernel {len(args)}: expected the same")
            return reference.run(name, args)

        return run


def _is_prim_func(reference: Any) -> bool:
    return type(reference).__name__ == "PrimFunc"


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
