"""The footprint of a session as one page without outside references: a bar for each function, and the table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...base.output_file import write_text
from ..page import BAR_STYLE, SWATCH_STYLE, bar, document, escape, swatch
from . import text

if TYPE_CHECKING:
    from ...compiler.session_footprint.measure import EntryFootprint, SessionFootprint

PARTS = {
    "weights": "#4e79a7",
    "KV cache": "#59a14f",
    "constants": "#b6992d",
    "inputs and plan": "#e15759",
}
"""Part of a bar -> its colour."""

STYLE = (
    f"""
{BAR_STYLE}{SWATCH_STYLE}"""
    + """\
main { max-width: 1100px; }
.parts { margin: 2px 0 10px; } .keys .swatch { margin-left: 16px; }
.wide { overflow-x: auto; } table { background: var(--paper); border: 1px solid var(--line); }
th, td { padding: 4px 14px; text-align: right; font-variant-numeric: tabular-nums; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
"""
)


def write_html(path: str | os.PathLike[str], footprint: SessionFootprint, command: str = "") -> None:
    """Write the page. command: the line that made it. AdrenoSimError if the file cannot be written."""
    write_text(path, page(footprint, command))


def page(footprint: SessionFootprint, command: str = "") -> str:
    """The page as one document."""
    title = f"Device memory of {footprint.source}"
    lines = [text.asked_line(footprint), footprint.rules.text, *text.resident_lines(footprint)]
    keys = "".join(f"{swatch(colour)}{escape(name)}" for name, colour in PARTS.items())
    parts = [
        *(f"<p>{escape(line)}</p>" for line in lines),
        f'<h2>While each function runs, as compiled</h2><p class="keys">{keys}</p>',
        *(_bar(footprint, entry) for entry in footprint.entries),
        "<h2>Figures</h2>",
        _table(footprint),
        *(f"<p>{escape(line)}</p>" for line in text.verdict_lines(footprint)),
        *(f'<p class="failed">{escape(line)}</p>' for line in footprint.obstacles()),
    ]
    return document(title, STYLE, parts, command=command)


def _bar(footprint: SessionFootprint, entry: EntryFootprint) -> str:
    peak, most = entry.row().peak, max(footprint.peak(), 1)
    sizes = (footprint.weights, footprint.state, footprint.constants, peak - footprint.resident)
    pieces = [
        (size / most, colour, f"{name}: {size:,} bytes")
        for (name, colour), size in zip(PARTS.items(), sizes, strict=True)
        if size > 0
    ]
    return f"<div>{escape(entry.name)}: {peak:,} bytes</div>{bar(pieces, 'bytes by what they hold')}"


def _table(footprint: SessionFootprint) -> str:
    columns = text.columns(footprint)
    head = "".join(f"<th>{escape(column.title)}</th>" for column in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(column.show(entry))}</td>' for column in columns)}</tr>" for entry in footprint.entries
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
