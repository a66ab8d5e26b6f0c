"""Predicted times as parts of a page: the table, and a roofline, in which each kernel is a point."""

from __future__ import annotations

import math

from ...results.time_limits import show_duration
from ...results.time_report import KernelTime, TimeReport
from ..page import escape
from ..table import Column
from .columns import list_columns, note_lines

_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 640, 320, 60, 40, 12
_FIGURE = ' class="n"'
_LARGEST = 9.0
"""Pixels of the radius of a kernel that takes all the time."""


def list_parts(report: TimeReport | None, rank: bool = False) -> list[str]:
    """Returns the parts of a section; none without times. rank: rows are ways to do the same."""
    if report is None:
        return []
    columns = list_columns(report, rank)
    heads = "".join(f"<th>{escape(column.title)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(_cell(column, row) for column in columns)}</tr>" for row in report.rows)
    table = f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    lines = [f"<p>{escape(line)}</p>" for line in note_lines(report, rank)]
    return [*([table] if report.kernels else []), *lines, *draw_roofline(report)]


def _cell(column: Column[KernelTime], row: KernelTime) -> str:
    return f"<td{_FIGURE if column.right else ''}>{escape(column.text(row))}</td>"


def draw_roofline(report: TimeReport) -> list[str]:
    """A picture: operations on floats for each byte of arguments, and operations a second, both on scales of powers of ten; the
    roof is what memory and units give at most. Kernels without operations on floats have no place in it."""
    points = [row for row in report.rows if row.operations and row.bytes and row.seconds]
    if not points:
        return []
    along = [row.operations / row.bytes for row in points] + [report.best_operations / report.best_bytes]
    high = [row.operations / row.seconds for row in points] + [report.best_operations]
    left, right = math.floor(math.log10(min(along))), math.ceil(math.log10(max(along)) + 0.3)
    low, top = math.floor(math.log10(min(high))), math.ceil(math.log10(max(high)) + 0.05)

    def place_x(value: float) -> float:
        return _LEFT + (math.log10(value) - left) / (right - left) * (_WIDTH - _LEFT - 10)

    def place_y(value: float) -> float:
        return _HEIGHT - _BELOW - (math.log10(value) - low) / (top - low) * (_HEIGHT - _BELOW - _ABOVE)

    ridge = report.best_operations / report.best_bytes
    begin = max(10.0**left, 10.0**low / report.best_bytes)
    corners = [(begin, begin * report.best_bytes), (ridge, report.best_operations), (10.0**right, report.best_operations)]
    roof = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in corners)
    drawn = [_grid_x(place_x(10.0**power), power) for power in range(left, right + 1)]
    drawn += [_grid_y(place_y(10.0**power), power) for power in range(low, top + 1)]
    drawn.append(f'<polyline points="{roof}" fill="none" stroke="currentColor" stroke-width="2"/>')
    drawn += [_point(row, report, place_x(row.operations / row.bytes), place_y(row.operations / row.seconds)) for row in points]
    frame = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="roofline: each kernel a point">'
    words = (
        "Across: operations on floats for each byte of arguments. Up: operations a second. The line: what memory and units give."
    )
    return [f"{frame}{''.join(drawn)}</svg>", f"<p>{words}</p>"]


def _grid_x(at: float, power: int) -> str:
    line = f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_ABOVE}" y2="{_HEIGHT - _BELOW}" stroke="currentColor" stroke-opacity=".15"/>'
    return line + _label(at, _HEIGHT - _BELOW + 16, "middle", f"{10.0**power:g}")


def _grid_y(at: float, power: int) -> str:
    line = f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{at:.1f}" y2="{at:.1f}" stroke="currentColor" stroke-opacity=".15"/>'
    return line + _label(_LEFT - 6, at + 4, "end", f"{10.0 ** (power - 9):g} G")


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="currentColor">{text}</text>'


def _point(row: KernelTime, report: TimeReport, x: float, y: float) -> str:
    radius = 3 + (_LARGEST - 3) * math.sqrt(row.seconds / report.seconds)
    says = f"{row.name}: {show_duration(row.seconds)}, bound by {row.bound}"
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#2f6fb0" fill-opacity=".7">'
    return f"{circle}<title>{escape(says)}</title></circle>"
