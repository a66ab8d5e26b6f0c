"""The scoping of a model as one page: calls from top to bottom in the order they run, coloured by the scope they write.

An arc leads from each result to the calls that read it, in the colour of the scope it is read in; copies are hatched.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...base.output_file import write_text
from ..page import SWATCH_STYLE, document, escape, swatch

if TYPE_CHECKING:
    from ...compiler.explain.memory_scopes import Call, ScopeReport

COLOURS = {
    "global": "#8a8f98",
    "global.texture": "#1f77b4",
    "global.texture-nhwc": "#2ca02c",
    "global.texture-weight": "#d95f02",
    "global.texture-nchw": "#7570b3",
}
OTHER = "#b0307a"
ROW, LEFT = 26, 150
"""Height of a line, room for arcs, in pixels."""

STYLE = (
    SWATCH_STYLE
    + """\
.key { display: flex; flex-wrap: wrap; gap: 2px 16px; }
.calls { position: relative; overflow-x: auto; }
.calls svg { position: absolute; left: 0; top: 0; } .calls ol { list-style: none; margin: 0; padding: 0; }
.calls li { height: 22px; margin: 0 0 4px 150px; padding: 0 8px; border: 1px solid; border-left-width: 8px; border-radius: 3px;
  background: var(--paper); font: 12px/20px ui-monospace, "DejaVu Sans Mono", monospace; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; max-width: 460px; }
.calls li.copy { border-style: dashed; }
@media (max-width: 700px) { .calls svg { left: -90px; } .calls li { margin-left: 60px; } }
"""
    + "".join(f".calls li.s{number} {{ border-color: {colour}; }}\n" for number, colour in enumerate((*COLOURS.values(), OTHER)))
)


def write_html(path: str | os.PathLike[str], report: ScopeReport, command: str = "") -> None:
    """Write the page. command: the line that made it. AdrenoSimError if the file cannot be written."""
    write_text(path, page(report, command))


def page(report: ScopeReport, command: str = "") -> str:
    """The page as one document that asks for nothing from anywhere."""
    title = f"Storage scopes of {report.model}"
    key = "".join(f"<span>{swatch(colour)}{scope}</span>" for scope, colour in COLOURS.items() if _has_scope(report, scope))
    counts = f"{len(report.inserted)} copies inserted, {len(report.left)} left; rule {report.rule}; pipeline {report.pipeline}"
    parts = [
        f"<p>{escape(counts)}</p>",
        f'<p class="key">{key}</p>',
        *(f'<p class="bad">{escape(str(violation))}</p>' for violation in report.violations),
        graph(report),
        _tensors(report),
    ]
    return document(title, STYLE, parts, command=command)


def _has_scope(report: ScopeReport, scope: str) -> bool:
    return any(scope in call.scopes or any(scope == read for _, read in call.operands) for call in report.calls)


def colour(scope: str) -> str:
    return COLOURS.get(scope, OTHER)


def graph(report: ScopeReport) -> str:
    """The calls as a list, with arcs as SVG. Results that no call reads, parameters and constants have no arc."""
    rows = {call.result: number for number, call in enumerate(report.calls)}
    parts = [f'<svg width="{LEFT}" height="{ROW * len(report.calls)}" aria-hidden="true">']
    for number, call in enumerate(report.calls):
        for name, scope in call.operands:
            if name in rows:
                parts.append(_arc(rows[name], number, scope))
    boxes = "".join(_box(call) for call in report.calls)
    return f'<div class="calls">{"".join(parts)}</svg><ol>{boxes}</ol></div>'


def _arc(source: int, reader: int, scope: str) -> str:
    top, bottom = source * ROW + 11, reader * ROW + 11
    reach = max(95.0, LEFT - 8.0 * (reader - source))
    return (
        f'<path d="M{LEFT} {top}C{reach} {top} {reach} {bottom} {LEFT} {bottom}" fill="none" '
        f'stroke="{colour(scope)}" stroke-width="1.5"/>'
    )


def _box(call: Call) -> str:
    scope = call.scopes[0] if call.scopes else "global"
    reads = ", ".join(f"{name}: {read}" for name, read in call.operands)
    copy = call.function == "to_vdevice"
    number = list(COLOURS).index(scope) if scope in COLOURS else len(COLOURS)
    text = escape(f"{call.result} = {'copy' if copy else call.function}")
    return (
        f'<li class="s{number}{" copy" if copy else ""}" title="{escape(f"{call.result}: {scope}; reads {reads}")}">{text}</li>'
    )


def _tensors(report: ScopeReport) -> str:
    lines = [
        "<tr>"
        + "".join(
            f"<td>{escape(cell)}</td>"
            for cell in (
                tensor.name,
                tensor.producer,
                "x".join(tensor.shape),
                "; ".join(f"{wish.consumer}: {wish.scope}" for wish in tensor.wishes),
                tensor.scope,
                tensor.why,
            )
        )
        + "</tr>"
        for tensor in report.tensors
    ]
    head = "<tr><th>tensor</th><th>of</th><th>shape</th><th>asked for</th><th>scope</th><th>why a buffer</th></tr>"
    return f'<h2>Before fusion</h2><div class="scroll"><table>{head}{"".join(lines)}</table></div>'
