"""Insert a fix into a list of TVM's passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tvm.ir.transform import Pass

SCHEDULE, LEGALIZE, LAYOUT = "ApplyDefaultSchedule", "LegalizeOps", "ConvertLayout"


def before_first(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more before the first called `name`. Raises ValueError where there is none."""
    at = first(passes, name)
    return [*passes[:at], added, *passes[at:]]


def after_first(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more behind the first called `name`. Raises ValueError where there is none."""
    at = first(passes, name) + 1
    return [*passes[:at], added, *passes[at:]]


def before_last(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more before the last called `name`. Raises ValueError where there is none."""
    at = _last(passes, name)
    return [*passes[:at], added, *passes[at:]]


def after_last(passes: list[Pass], name: str, added: Pass) -> list[Pass]:
    """The passes with one more behind the last called `name`. Raises ValueError where there is none."""
    at = _last(passes, name) + 1
    return [*passes[:at], added, *passes[at:]]


def first(passes: list[Pass], name: str) -> int:
    """Where the first pass called `name` is. Raises ValueError where there is none."""
    return [item.info.name for item in passes].index(name)


def _last(passes: list[Pass], name: str) -> int:
    return max(i for i, item in enumerate(passes) if item.info.name == name)
