"""The record of one fix, and how it joins a list of TVM's passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...records import dataclass

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.target import Target

ALL_VERSIONS = ("0.25", "0.26", "0.27")


@dataclass(frozen=True)
class Fix:
    """A fix: what it repairs, in which TVM series, and how it joins the pipelines.

    relax: takes TVM's list of Relax passes and the target, returns the list to run instead.
    tir: (name of a pass of TVM's TIR pipeline, maker of the pass that runs just before it). instead: the same of a pass that
    takes its place. device: maker of a pass on device code, after TVM's last.
    reference: maker of a pass that repairs a PrimFunc which was scheduled before it came here: what its kernel is compared with.
    """

    name: str
    versions: tuple[str, ...]
    summary: str
    relax: Callable[[list[Pass], Target], list[Pass]] | None = None
    tir: tuple[str, Callable[[], Pass]] | None = None
    instead: tuple[str, Callable[[], Pass]] | None = None
    device: Callable[[], Pass] | None = None
    reference: Callable[[], Pass] | None = None

    @property
    def maker(self) -> Callable[..., Any]:
        """The function through which it joins, in the file that describes it."""
        found = self.relax or self.device or (self.tir or self.instead or (None, None))[1]
        assert found is not None, self.name
        return found


SCHEDULE, LEGALIZE, LAYOUT = "ApplyDefaultSchedule", "LegalizeOps", "ConvertLayout"


def before_first(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more before the first called `name`. Raises ValueError if there is none."""
    at = first(passes, name)
    return [*passes[:at], added, *passes[at:]]


def before_layout(passes: list[Pass], target: Target, added: Pass) -> list[Pass]:
    """The passes with one more before ConvertLayout; unchanged for targets without textures, which have none."""
    return before_first(passes, LAYOUT, added) if "texture" in target.keys else passes


def after_first(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more behind the first called `name`. Raises ValueError if there is none."""
    at = first(passes, name) + 1
    return [*passes[:at], added, *passes[at:]]


def before_last(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more before the last called `name`. Raises ValueError if there is none."""
    at = _last(passes, name)
    return [*passes[:at], added, *passes[at:]]


def after_last(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more behind the last called `name`. Raises ValueError if there is none."""
    at = _last(passes, name) + 1
    return [*passes[:at], added, *passes[at:]]


def first(passes: list[Pass], name: str) -> int:
    """Where the first pass called `name` is. Raises ValueError if there is none."""
    return [item.info.name for item in passes].index(name)


def _last(passes: list[Pass], name: str) -> int:
    return max(i for i, item in enumerate(passes) if item.info.name == name)
