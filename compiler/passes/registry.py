"""The mends of the fixed pipeline, by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...device import AdrenoSimError
from ..compat import tvm_series

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

ALL_VERSIONS = ("0.25", "0.26", "0.27")


@dataclass(frozen=True)
class Fix:
    """A mend: what it repairs, in which TVM series, and how it joins the pipelines.

    relax: takes TVM's list of Relax passes and the target, returns the list to run instead.
    tir: (name of a pass of TVM's TIR pipeline, pass that runs just before it).
    device: pass over the kernels before code generation.
    """

    name: str
    versions: tuple[str, ...]
    summary: str
    relax: Callable[[list[Pass], Target], list[Pass]] | None = None
    tir: tuple[str, Callable[[], Pass]] | None = None


FIXES: tuple[Fix, ...] = ()


def choose(without: Sequence[str] = ()) -> tuple[Fix, ...]:
    """The mends for the installed TVM, less those named. AdrenoSimError for a name that is not a mend."""
    names = [fix.name for fix in FIXES]
    for name in without:
        if name not in names:
            raise AdrenoSimError(f"fix {name!r}: expected one of {', '.join(names)}")
    return tuple(fix for fix in FIXES if fix.name not in without and tvm_series() in fix.versions)
