"""The record of one fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

ALL_VERSIONS = ("0.25", "0.26", "0.27")


@dataclass(frozen=True)
class Fix:
    """A fix: what it repairs, in which TVM series, and how it joins the pipelines.

    relax: takes TVM's list of Relax passes and the target, returns the list to run instead.
    tir: (name of a pass of TVM's TIR pipeline, maker of the pass that runs just before it).
    """

    name: str
    versions: tuple[str, ...]
    summary: str
    relax: Callable[[list[Pass], Target], list[Pass]] | None = None
    tir: tuple[str, Callable[[], Pass]] | None = None
