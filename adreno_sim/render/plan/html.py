"""One self-contained page that shows memory plans: figures, live bytes over time, every tensor where it lies.

The page asks for nothing from anywhere. It shows the aggregate first; of a plan of many tensors those smaller
than a pixel are marks, and become rectangles when one zooms in.
"""

from __future__ import annotations

import os
from importlib import resources
from typing import TYPE_CHECKING, Any

from ...base.errors import AdrenoSimError
from ...base.output_file import write_text
from ...base.text.spelling import spell_line
from ..page import BAR_STYLE, SWATCH_STYLE, document, escape, fill, script_data
from . import advice_html
from .picture import bases, live_curve, time_axis, unit_of

if TYPE_CHECKING:
    from ...compiler.plan.allocation import Allocation
    from ...compiler.plan.compare import PlannerResult
    from ...compiler.plan.footprint import Footprint
    from ...compiler.plan.problem import Item


PALE = {
    "global.texture": "#9ec5ee", "global.texture-weight": "#f9c48c", "global.texture-nhwc": "#a6d8a0", "global": "#dcb8d8",
}  # fmt: skip
"""Scope -> the colour of its tensors, pale enough for a dark label."""
OTHER = "#c9c9d2"


def write_html(path: str | os.PathLike[str], footprint: Footprint, planner: str, command: str = "") -> None:
    """Write the page, opened at the plan of `planner`. command: the line that made it. AdrenoSimError if the file cannot be
    written."""
    write_text(path, page(footprint, planner, command))


def page(footprint: Footprint, planner: str, command: str = "") -> str:
    """The page as one document."""
    title = f"Memory plans of {footprint.source}"
    values = {
        "SUBTITLE": escape(f"{len(footprint.problem.items)} tensors; {footprint.rule}"),
        "ADVICE": advice_html.section(footprint),
        "DATA": script_data("data", page_data(footprint, planner)),
    }
    style = BAR_STYLE + SWATCH_STYLE + _file("plan_page.css")
    return document(title, style, [fill(_file("plan_page.html"), values)], _file("plan_page.js"), command)


def page_data(footprint: Footprint, planner: str) -> dict[str, Any]:
    """What the script draws. tensors: [id, shape, dtype, scope number, size, dense, start, end, operators that make it] each."""
    items = footprint.problem.items
    makers = {tensor.id: tensor.producer for tensor in footprint.plan.tensors} if footprint.plan is not None else {}
    scopes = sorted({item.scope for item in items})
    plans = [_plan(a, footprint.rows[n], items) for n, a in enumerate(footprint.allocations) if a is not None]
    for plan, allocation in zip(plans, filter(None, footprint.allocations), strict=True):
        if allocation.problem.order:  # the same tensors, at other times
            lives = {item.id: item for item in allocation.problem.items}
            moved = tuple(lives[item.id] for item in items)
            plan["lives"] = [[item.start, item.end] for item in moved]
            plan["live"] = _live(moved, scopes)
    if planner not in [plan["planner"] for plan in plans]:
        raise AdrenoSimError(f"planner {planner!r} has no plan to draw")
    return {
        "planner": planner,
        "time": time_axis(items),
        "unit": unit_of(max([plan["total"] for plan in plans] or [1])),
        "scopes": [{"name": spell_line(scope), "colour": PALE.get(scope, OTHER)} for scope in scopes],
        "tensors": [_tensor(item, scopes, makers.get(item.id, "")) for item in items],
        "live": _live(items, scopes),
        "plans": plans,
    }


def _tensor(item: Item, scopes: list[str], maker: str) -> list[Any]:
    shape = "x".join(map(str, item.shape))
    dtype = item.dtype if item.shape else ""
    return [
        spell_line(item.id),
        shape,
        spell_line(dtype),
        scopes.index(item.scope),
        item.size,
        item.dense or item.size,
        item.start,
        item.end,
        spell_line(maker),
    ]


def _live(items: tuple[Item, ...], scopes: list[str]) -> dict[str, Any]:
    return {spell_line(scope): live_curve(tuple(item for item in items if item.scope == scope)) for scope in scopes}


def _plan(allocation: Allocation, row: PlannerResult, items: tuple[Item, ...]) -> dict[str, Any]:
    """storages: bytes of each; bases: where each begins in the picture; of: storage of each of `items`; at: its offset; peak: of
    the device, 0 where only lifetimes are known."""
    numbers = {item.id: number for number, item in enumerate(allocation.problem.items)}
    order = [numbers[item.id] for item in items]
    return {
        "planner": allocation.planner,
        "total": allocation.total,
        "bound": allocation.problem.lower_bound(allocation.unit),
        "storages": allocation.storages,
        "bases": bases(allocation),
        "of": [allocation.storage_of[number] for number in order],
        "at": [allocation.offsets[number] for number in order],
        "peak": row.peak,
        "note": spell_line(row.note),
    }


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
