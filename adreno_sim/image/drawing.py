"""A drawing of an image's layout in memory as SVG: rows to scale, padding hatched, each layer a block."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from ..base.text.spelling import spell_line
from .layout import Layout

_WIDTH = 640  # of one layer's block, in SVG units
_WORDS = 190  # beside a block
_MOST_ROWS = 16
_MOST_LAYERS = 4
_ROW = 12
_GAP = 34
_THINNEST = 3.0
"""Units of a marked texel's width at least, so that it is seen."""

_STYLE = (
    "text{font:11px sans-serif;fill:#222}.texels{fill:#8fb4de;stroke:#35618f}"
    ".padding{fill:url(#hatch);stroke:#999}.more{fill:#595959;font-style:italic}.mark{fill:#a30f0f;stroke:#a30f0f}"
)
_HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#f3f3f3"/><line x1="0" y1="0" x2="0" y2="6" stroke="#bbb" stroke-width="2"/></pattern>'
)


Texel = tuple[int, ...]
"""x, y, layer."""


def layout_svg(layout: Layout, title: str = "", marked: Collection[Texel] = ()) -> str:
    """The drawing as one SVG document; of many rows or layers the first are drawn, those of marked texels too, and the rest
    counted."""
    heading = f"{title}: " if title else ""
    heading += f"{layout.width} x {layout.height} x {layout.layers} texels of {layout.texel_bytes} B, {_waste(layout)}"
    parts = [f'<text x="8" y="16">{escape(spell_line(heading), quote=False)}</text>']
    top = 30
    for layer, left_out in _drawn(layout.layers, _MOST_LAYERS, {texel[2] for texel in marked}):
        if left_out:
            parts.append(_more(left_out, "layer", top))
            top += 16
        if layer is not None:
            block, top = _layer(layout, layer, top, [texel for texel in marked if texel[2] == layer])
            parts += block
    size = f'width="{_WIDTH + _WORDS}" height="{top}" viewBox="0 0 {_WIDTH + _WORDS} {top}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style><defs>{_HATCH}</defs>{"".join(parts)}</svg>'


def _drawn(count: int, most: int, wanted: Collection[int]) -> list[tuple[int | None, int]]:
    """The numbers below `count` that are drawn, each with how many were left out before it; at the end None with those behind."""
    found: list[tuple[int | None, int]] = []
    after = 0
    for number in sorted({*range(min(count, most)), *wanted}):
        found.append((number, number - after))
        after = number + 1
    return found if after == count else [*found, (None, count - after)]


def _more(count: int, what: str, y: int) -> str:
    return f'<text class="more" x="8" y="{y + 11}">... {count} more {what}s</text>'


def _waste(layout: Layout) -> str:
    padding = layout.nbytes - layout.dense_bytes
    return f"{layout.nbytes} B with {padding} B ({100 * padding / layout.nbytes:.1f} %) padding"


def _layer(layout: Layout, layer: int, top: int, marked: Collection[Texel]) -> tuple[list[str], int]:
    """The block of one layer, and where the next may start."""
    parts = [f'<text x="8" y="{top + 10}">layer {layer} at byte {layer * layout.slice_pitch}</text>']
    y = top + 16
    for row, left_out in _drawn(layout.height, _MOST_ROWS, {texel[1] for texel in marked}):
        if left_out:
            parts.append(_more(left_out, "row", y))
            y += 14
        if row is not None:
            parts += _row(layout, row, y, [texel for texel in marked if texel[1] == row])
            y += _ROW
    tail = layout.slice_pitch - layout.height * layout.row_pitch
    if tail:
        parts.append(f'<rect class="padding" x="8" y="{y}" width="{_WIDTH}" height="{_ROW}"/>')
        parts.append(f'<text x="{_WIDTH + 14}" y="{y + 10}">{tail} B to the next layer</text>')
        y += _ROW
    return parts, y + _GAP - 16


def _row(layout: Layout, row: int, y: int, marked: Collection[Texel]) -> list[str]:
    used = _WIDTH * layout.width * layout.texel_bytes / layout.row_pitch
    parts = [f'<rect class="texels" x="8" y="{y}" width="{used:.2f}" height="{_ROW}"/>']
    if used < _WIDTH:
        parts.append(f'<rect class="padding" x="{8 + used:.2f}" y="{y}" width="{_WIDTH - used:.2f}" height="{_ROW}"/>')
    said = [f"row pitch {layout.row_pitch} B"] if row == 0 else []
    for x, _, layer in marked:
        wide = max(_THINNEST, used / layout.width)
        at = layer * layout.slice_pitch + row * layout.row_pitch + x * layout.texel_bytes
        place = f"({x}, {row}, {layer}) at byte {at}"
        left = min(8 + used * x / layout.width, 8 + _WIDTH - wide)
        parts.append(
            f'<rect class="mark" x="{left:.2f}" y="{y}" width="{wide:.2f}" height="{_ROW}"><title>{place}</title></rect>'
        )
        said = [f"({x}, {row}) at byte {at}"]
    parts += [f'<text x="{_WIDTH + 14}" y="{y + 10}">{text}</text>' for text in said]
    return parts
