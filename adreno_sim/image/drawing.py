"""A drawing of an image's layout in memory as SVG: rows to scale, padding hatched, each layer a block."""

from __future__ import annotations

from html import escape

from ..base.text.spelling import spell_line
from .layout import Layout

_WIDTH = 640  # of one layer's block, in SVG units
_MOST_ROWS = 16
_MOST_LAYERS = 4
_ROW = 12
_GAP = 34

_STYLE = (
    "text{font:11px sans-serif;fill:#222}.texels{fill:#8fb4de;stroke:#35618f}"
    ".padding{fill:url(#hatch);stroke:#999}.more{fill:#666;font-style:italic}"
)
_HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#f3f3f3"/><line x1="0" y1="0" x2="0" y2="6" stroke="#bbb" stroke-width="2"/></pattern>'
)


def layout_svg(layout: Layout, title: str = "") -> str:
    """The drawing as one SVG document; of many rows or layers the first are drawn, and the rest counted."""
    heading = f"{title}: " if title else ""
    heading += f"{layout.width} x {layout.height} x {layout.layers} texels of {layout.texel_bytes} B, {_waste(layout)}"
    parts = [f'<text x="8" y="16">{escape(spell_line(heading), quote=False)}</text>']
    top = 30
    drawn = min(layout.layers, _MOST_LAYERS)
    for layer in range(drawn):
        block, top = _layer(layout, layer, top)
        parts += block
    if layout.layers > drawn:
        parts.append(f'<text class="more" x="8" y="{top}">... {layout.layers - drawn} more layers</text>')
        top += 16
    size = f'width="{_WIDTH + 130}" height="{top}" viewBox="0 0 {_WIDTH + 130} {top}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style><defs>{_HATCH}</defs>{"".join(parts)}</svg>'


def _waste(layout: Layout) -> str:
    padding = layout.nbytes - layout.dense_bytes
    return f"{layout.nbytes} B of which {padding} B ({100 * padding / layout.nbytes:.1f} %) padding"


def _layer(layout: Layout, layer: int, top: int) -> tuple[list[str], int]:
    """The block of one layer, and where the next may start."""
    parts = [f'<text x="8" y="{top + 10}">layer {layer} at byte {layer * layout.slice_pitch}</text>']
    y = top + 16
    rows = min(layout.height, _MOST_ROWS)
    for row in range(rows):
        parts += _row(layout, row, y)
        y += _ROW
    if layout.height > rows:
        parts.append(f'<text class="more" x="8" y="{y + 11}">... {layout.height - rows} more rows</text>')
        y += 14
    tail = layout.slice_pitch - layout.height * layout.row_pitch
    if tail:
        parts.append(f'<rect class="padding" x="8" y="{y}" width="{_WIDTH}" height="{_ROW}"/>')
        parts.append(f'<text x="{_WIDTH + 14}" y="{y + 10}">{tail} B to the next layer</text>')
        y += _ROW
    return parts, y + _GAP - 16


def _row(layout: Layout, row: int, y: int) -> list[str]:
    used = _WIDTH * layout.width * layout.texel_bytes / layout.row_pitch
    parts = [f'<rect class="texels" x="8" y="{y}" width="{used:.2f}" height="{_ROW}"/>']
    if used < _WIDTH:
        parts.append(f'<rect class="padding" x="{8 + used:.2f}" y="{y}" width="{_WIDTH - used:.2f}" height="{_ROW}"/>')
    if row == 0:
        parts.append(f'<text x="{_WIDTH + 14}" y="{y + 10}">row pitch {layout.row_pitch} B</text>')
    return parts
