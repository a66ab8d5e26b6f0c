"""The scoping of a model as one page: calls from top to bottom in the order they run, coloured by the scope they write.

An arc leads from each result to the calls that read it, in the colour of the scope it is read in; copies are hatched.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...base.output_file import write_text
from ..page import SWATCH_STYLE, document, escape, swatch

if TYPE_CHECKING:
    from ...compiler.explain.scopes import Call, ScopeReport

COLOURS = {
    "global": "#8a8f98",
    "global.texture": "#1f77b4",
    "global.texture-nhwc": "#2ca02c",
    "global.texture-weight": "#d95f02",
    "global.texture-nchw": "#7570b3",
}
OTHER = "#b0307a"
ROW, BOX, LEFT = 26, 420, 260
"""Height of a line, width of a call, room for arcs, in pixels."""

STYLE = (
    SWATCH_STYLE
    + """\
body{font:14px/1.4 system-ui,sans-serif;margin:1.5em;color:#222;background:#fff}
svg text{font:12px ui-monospace,monospace}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}
.key .swatch{margin-left:1em}
.bad{color:#b00020}@media(prefers-color-scheme:dark){body{background:#16181c;color:#ddd}svg text{fill:#ddd}}
"""
)


def write_html(path: str | os.PathLike[str], report: ScopeReport) -> None:
    """Write the page. AdrenoSimError where the file cannot be written."""
    write_text(path, page(report))


def page(report: ScopeReport) -> str:
    """The page as one document that asks for nothing from anywhere."""
    title = f"Storage scopes of {report.model}"
    key = "".join(f"{swatch(colour)}{scope}" for scope, colour in COLOURS.items() if _has_scope(report, scope))
    counts = f"{len(report.inserted)} copies inserted, {len(report.left)} left; rule {report.rule}; pipeline {report.pipeline}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(counts)}</p>",
        f'<p class="key">{key}</p>',
        *(f'<p class="bad">{escape(str(violation))}</p>' for violation in report.violations),
        graph(report),
        _tensors(report),
    ]
    return document(title, STYLE, parts)


def _has_scope(report: ScopeReport, scope: str) -> bool:
    return any(scope in call.scopes or any(scope == read for _, read in call.operands) for call in report.calls)


def colour(scope: str) -> str:
    return COLOURS.get(scope, OTHER)


def graph(report: ScopeReport) -> str:
    """The calls and arcs as SVG. Results that no call reads, parameters and constants have no arc."""
    rows = {call.result: number for number, call in enumerate(report.calls)}
    height = ROW * len(report.calls) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + BOX + 10}" height="{height}" role="img">']
    for number, call in enumerate(report.calls):
        for name, scope in call.operands:
            if name in rows:
                parts.append(_arc(rows[name], number, scope))
    parts += [_box(number, call) for number, call in enumerate(report.calls)]
    return "".join([*parts, "</svg>"])


def _arc(source: int, reader: int, scope: str) -> str:
    top, bottom = source * ROW + ROW / 2, reader * ROW + ROW / 2
    reach = max(5.0, LEFT - 14.0 * (reader - source))
    return (
        f'<path d="M{LEFT} {top}C{reach} {top} {reach} {bottom} {LEFT} {bottom}" fill="none" '
        f'stroke="{colour(scope)}" stroke-width="1.5"/>'
    )


def _box(number: int, call: Call) -> str:
    at = number * ROW + 3
    scope = call.scopes[0] if call.scopes else "global"
    reads = ", ".join(f"{name}: {read}" for name, read in call.operands)
    copy = call.function == "to_vdevice"
    dash = ' stroke-dasharray="4 3" fill-opacity="0.15"' if copy else ' fill-opacity="0.35"'
    text = escape(f"{call.result} = {'copy' if copy else call.function}")
    return (
        f"<g><title>{escape(f'{call.result}: {scope}; reads {reads}')}</title>"
        f'<rect x="{LEFT}" y="{at}" width="{BOX}" height="{ROW - 6}" fill="{colour(scope)}" stroke="{colour(scope)}"{dash}/>'
        f'<text x="{LEFT + 8}" y="{at + 14}">{text}</text></g>'
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
    return f"<h2>Before fusion</h2><table>{head}{''.join(lines)}</table>"
