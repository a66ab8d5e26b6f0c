"""Counters as parts of a page: a table of kernels, and what each did to open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...results.counters import list_wasteful
from ..page import escape
from ..table import Column, Row
from . import columns


def list_parts(kernels: Sequence[columns.Named]) -> list[str]:
    """Returns the parts of a section; none without kernels."""
    if not kernels:
        return []
    parts = [_table(columns.KERNELS, kernels)]
    for name, counters in kernels:
        lines = "".join(f"<li>{escape(line)}</li>" for line in [*columns.detail_lines(counters), columns.model_line(counters)])
        table = _table(columns.MEMORY, counters.memory) + _table(columns.PLACES, list_wasteful(counters))
        parts.append(f"<details><summary><code>{escape(name)}</code></summary><ul>{lines}</ul>{table}</details>")
    return parts


def _table(shown: Sequence[Column[Row]], rows: Iterable[Row]) -> str:
    heads = "".join(f"<th>{escape(column.title)}</th>" for column in shown)
    body = "".join(f"<tr>{''.join(_cell(column, row) for column in shown)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(column: Column[Row], row: Row) -> str:
    text = escape(column.show(row))
    return f'<td class="n">{text}</td>' if column.right else f"<td><code>{text}</code></td>"
